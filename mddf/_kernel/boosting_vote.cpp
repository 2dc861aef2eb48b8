#include "boosting_vote.hpp"

#include <algorithm>

namespace mddf::boosting {

namespace {

constexpr std::size_t kRowsPerBlock = 256; // so that a block of rows stays in cache for all trees

std::int8_t label_of(const FlatTrees &trees, std::size_t tree, const double *row) {
    const std::int64_t start = trees.start[tree];
    std::int64_t at = start;
    while (trees.feature[at] >= 0) {
        const bool left = row[trees.feature[at]] <= trees.threshold[at];
        at = start + (left ? trees.left[at] : trees.right[at]);
    }
    return trees.label[at];
}

template <class Visit>
void for_each_label(const FlatTrees &trees, const double *x, std::size_t n_rows,
                    std::size_t n_features, Visit &&visit) {
    for (std::size_t first = 0; first < n_rows; first += kRowsPerBlock) {
        const std::size_t last = std::min(n_rows, first + kRowsPerBlock);
        for (std::size_t tree = 0; tree < trees.n_trees; ++tree) {
            for (std::size_t i = first; i < last; ++i) {
                visit(tree, i, label_of(trees, tree, x + i * n_features));
            }
        }
    }
}

} // namespace

const char *FlatTrees::problem(std::size_t n_features) const {
    if (start[0] != 0 || start[n_trees] != static_cast<std::int64_t>(n_nodes)) {
        return "start must begin with 0 and end with the number of nodes";
    }
    for (std::size_t t = 0; t < n_trees; ++t) {
        if (start[t + 1] <= start[t] || start[t + 1] > static_cast<std::int64_t>(n_nodes)) {
            return "start must rise: every tree has at least one node";
        }
        const std::int64_t size = start[t + 1] - start[t];
        for (std::int64_t k = 0; k < size; ++k) {
            const std::int64_t at = start[t] + k;
            if (feature[at] < 0) {
                continue;
            }
            if (static_cast<std::size_t>(feature[at]) >= n_features) {
                return "feature must be less than the number of columns of x";
            }
            if (left[at] <= k || left[at] >= size || right[at] <= k || right[at] >= size) {
                return "left and right must follow their parent within its tree";
            }
        }
    }
    return nullptr;
}

void tree_labels(const FlatTrees &trees, const double *x, std::size_t n_rows,
                 std::size_t n_features, std::int8_t *labels) {
    for_each_label(trees, x, n_rows, n_features,
                   [&](std::size_t tree, std::size_t i, std::int8_t label) {
                       labels[tree * n_rows + i] = label;
                   });
}

void tree_votes(const FlatTrees &trees, const double *weight, const double *x, std::size_t n_rows,
                std::size_t n_features, double *votes) {
    std::fill(votes, votes + n_rows, 0.0);
    for_each_label(trees, x, n_rows, n_features,
                   [&](std::size_t tree, std::size_t i, std::int8_t label) {
                       votes[i] += weight[tree] * label;
                   });
}

} // namespace mddf::boosting
