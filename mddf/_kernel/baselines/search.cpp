#include "baselines/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "baselines/scan.hpp"

namespace mddf::boosting {

namespace {

constexpr double kTieShare = 1e-11;  // of the total absolute weight

std::int8_t sign(double value, std::int8_t at_zero) {
  return value > 0.0 ? 1 : (value < 0.0 ? -1 : at_zero);
}

// A tree under construction, with the node that every row has reached.
class Grower {
 public:
  Grower(const Grower&) = delete;
  Grower(const RankedFeatures& features, const double* signed_weight, Interrupt& interrupt)
      : interrupt_(interrupt),
        features_(features),
        weight_(signed_weight),
        node_of_(features.n_rows(), 0),
        rows_(features.n_rows()) {
    double total = 0.0;
    TreeNode root;
    for (std::size_t i = 0; i < node_of_.size(); ++i) {
      root.sum += weight_[i];
      total += std::fabs(weight_[i]);
    }
    root.label = sign(root.sum, 1);
    tolerance_ = kTieShare * total;
    nodes_.push_back(root);
  }

  double tolerance() const { return tolerance_; }
  const std::vector<TreeNode>& nodes() const { return nodes_; }

  double edge() const {
    double edge = 0.0;
    for (const TreeNode& node : nodes_) {
      edge += node.feature < 0 ? node.sum * node.label : 0.0;
    }
    return edge;
  }

  // Returns the best split of each leaf; feature -1 if no split increases the edge.
  std::vector<Split> best_splits(const std::vector<std::int32_t>& leaves) {
    if (nodes_.size() == 1) {
      const double floor = std::fabs(nodes_[0].sum);
      return {scan_root(features_, weight_, nodes_[0].sum, floor, tolerance_, interrupt_)};
    }
    std::vector<double> sums;
    for (std::int32_t leaf : leaves) {
      sums.push_back(nodes_[leaf].sum);
    }
    fill_slots(leaves);
    return scan_nodes(features_, rows_, sums, tolerance_, interrupt_);
  }

  Split best_root_split_even_if_useless() const {
    return scan_root(features_, weight_, nodes_[0].sum, -1.0, tolerance_, interrupt_);
  }

  // Returns the best common split of two leaves that increases the edge.
  Split best_shared_split(std::int32_t a, std::int32_t b) {
    const double sums[2] = {nodes_[a].sum, nodes_[b].sum};
    fill_slots({a, b});
    return scan_pair(features_, rows_, sums, std::fabs(sums[0]) + std::fabs(sums[1]), tolerance_,
                     interrupt_);
  }

  // Splits some leaves. Thresholds lie half-way between neighbouring values of the node, or of the
  // feature if `shared`, so that several nodes can have the same split.
  void apply(const std::vector<std::int32_t>& leaves, const std::vector<Split>& splits,
             bool shared = false);

  std::vector<std::int8_t> predictions() const {
    std::vector<std::int8_t> prediction(node_of_.size());
    for (std::size_t i = 0; i < node_of_.size(); ++i) {
      prediction[i] = nodes_[node_of_[i]].label;
    }
    return prediction;
  }

 private:
  void fill_slots(const std::vector<std::int32_t>& leaves) {
    const auto none = static_cast<std::uint32_t>(leaves.size());
    std::vector<std::uint32_t> slot_of(nodes_.size(), none);
    for (std::size_t slot = 0; slot < leaves.size(); ++slot) {
      slot_of[leaves[slot]] = static_cast<std::uint32_t>(slot);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i] = {weight_[i], slot_of[node_of_[i]]};
    }
  }

  Interrupt& interrupt_;
  const RankedFeatures& features_;
  const double* weight_;
  std::vector<std::int32_t> node_of_;
  std::vector<SlottedRow> rows_;
  std::vector<TreeNode> nodes_;
  double tolerance_;
};

void Grower::apply(const std::vector<std::int32_t>& leaves, const std::vector<Split>& splits,
                   bool shared) {
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    TreeNode& node = nodes_[leaves[k]];
    node.feature = splits[k].feature;
    node.code = splits[k].code;
    node.left = static_cast<std::int32_t>(nodes_.size() + 2 * k);
    node.right = node.left + 1;
  }
  const std::size_t n_before = nodes_.size();
  nodes_.resize(n_before + 2 * leaves.size());
  // Per node: the highest code that went left, the lowest that went right.
  std::vector<std::uint32_t> low(n_before, 0);
  std::vector<std::uint32_t> high(n_before, std::numeric_limits<std::uint32_t>::max());
  for (std::size_t i = 0; i < node_of_.size(); ++i) {
    const std::int32_t at = node_of_[i];
    const TreeNode& node = nodes_[at];
    if (node.feature < 0) {
      continue;
    }
    const std::uint32_t code = features_.code(static_cast<std::size_t>(node.feature), i);
    if (code <= node.code) {
      node_of_[i] = node.left;
      low[at] = std::max(low[at], code);
    } else {
      node_of_[i] = node.right;
      high[at] = std::min(high[at], code);
    }
    nodes_[node_of_[i]].sum += weight_[i];
  }
  for (std::int32_t leaf : leaves) {
    TreeNode& node = nodes_[leaf];
    const auto feature = static_cast<std::size_t>(node.feature);
    const std::uint32_t below = shared ? node.code : low[leaf];
    const std::uint32_t above = shared ? node.code + 1 : high[leaf];
    node.threshold = features_.midpoint(feature, below, above);
    TreeNode &left = nodes_[node.left], &right = nodes_[node.right];
    // A child whose weights cancel takes the parent's label: negating y then negates it too.
    left.label = sign(left.sum, node.label);
    right.label = sign(right.sum, node.label);
    node.gain = std::fabs(left.sum) + std::fabs(right.sum) - std::fabs(node.sum);
  }
}

// Keeps the best tree so far by edge / 2 - penalty.
class Champion {
 public:
  Champion(const Grower& grower, double penalty) { take(grower, penalty); }

  void offer(const Grower& grower, double penalty) {
    if (grower.edge() / 2.0 - penalty > value_ + grower.tolerance()) {
      take(grower, penalty);
    }
  }

  FoundTree release() { return std::move(best_); }

 private:
  void take(const Grower& grower, double penalty) {
    best_ = {grower.nodes(), grower.predictions(), grower.edge()};
    value_ = best_.edge / 2.0 - penalty;
  }

  FoundTree best_;
  double value_ = 0.0;
};

// Returns how many of the splits, sorted by decreasing gain, give the best tree with one more
// layer.
std::size_t best_number_of_splits(const std::vector<double>& gains, std::size_t size,
                                  const Penalty& penalty, double tolerance) {
  std::size_t best = 1;
  double value = 0.0, best_value = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k <= gains.size(); ++k) {
    value += gains[k - 1] / 2.0;
    const double candidate = value - penalty(size + 2 * k);
    if (candidate > best_value + tolerance) {
      best = k;
      best_value = candidate;
    }
  }
  return best;
}

FoundTree grow_layerwise(Grower& grower, const Penalty& penalty, int max_depth) {
  struct Open {
    std::int32_t leaf;
    Split split;
    double gain;
  };
  Champion champion(grower, penalty(1));
  std::vector<Open> open;  // leaves whose best split is known but not made
  std::vector<std::int32_t> fresh{0};
  for (int depth = 1; depth <= max_depth; ++depth) {
    const std::vector<Split> splits = grower.best_splits(fresh);
    for (std::size_t k = 0; k < fresh.size(); ++k) {
      if (splits[k].feature >= 0) {
        const double sum = grower.nodes()[fresh[k]].sum;
        open.push_back({fresh[k], splits[k], splits[k].score - std::fabs(sum)});
      }
    }
    if (open.empty()) {
      break;
    }
    std::stable_sort(open.begin(), open.end(),
                     [](const Open& a, const Open& b) { return a.gain > b.gain; });
    std::vector<double> gains;
    for (const Open& entry : open) {
      gains.push_back(entry.gain);
    }
    const std::size_t count =
        best_number_of_splits(gains, grower.nodes().size(), penalty, grower.tolerance());
    std::vector<std::int32_t> leaves;
    std::vector<Split> chosen;
    for (std::size_t k = 0; k < count; ++k) {
      leaves.push_back(open[k].leaf);
      chosen.push_back(open[k].split);
    }
    open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(count));
    fresh.clear();
    for (std::size_t k = 0; k < 2 * count; ++k) {
      fresh.push_back(static_cast<std::int32_t>(grower.nodes().size() + k));
    }
    grower.apply(leaves, chosen);
    champion.offer(grower, penalty(grower.nodes().size()));
  }
  return champion.release();
}

FoundTree grow_greedy(Grower& grower, const Penalty& penalty, int max_depth) {
  std::vector<std::int32_t> fresh{0};
  for (int depth = 1; depth <= max_depth && !fresh.empty(); ++depth) {
    const std::vector<Split> splits = grower.best_splits(fresh);
    std::vector<std::int32_t> leaves;
    std::vector<Split> chosen;
    std::size_t size = grower.nodes().size();
    for (std::size_t k = 0; k < fresh.size(); ++k) {
      if (splits[k].feature < 0) {
        continue;
      }
      const double gain = splits[k].score - std::fabs(grower.nodes()[fresh[k]].sum);
      if (gain / 2.0 > penalty(size + 2) - penalty(size) + grower.tolerance()) {
        leaves.push_back(fresh[k]);
        chosen.push_back(splits[k]);
        size += 2;
      }
    }
    fresh.clear();
    for (std::size_t node = grower.nodes().size(); node < size; ++node) {
      fresh.push_back(static_cast<std::int32_t>(node));
    }
    grower.apply(leaves, chosen);
  }
  return {grower.nodes(), grower.predictions(), grower.edge()};
}

FoundTree grow_stumps(Grower& grower, const Penalty& penalty, int max_depth) {
  Champion champion(grower, penalty(1));
  const Split first = grower.best_root_split_even_if_useless();
  if (first.feature < 0) {
    return champion.release();
  }
  grower.apply({0}, {first});
  champion.offer(grower, penalty(1));
  if (max_depth >= 2) {
    const Split second = grower.best_shared_split(1, 2);
    if (second.feature >= 0) {
      grower.apply({1, 2}, {second, second}, true);
      champion.offer(grower, penalty(2));
    }
  }
  return champion.release();
}

}  // namespace

FoundTree search_tree(const RankedFeatures& features, const double* signed_weight,
                      const Penalty& penalty, int max_depth, SearchMode mode,
                      Interrupt& interrupt) {
  Grower grower(features, signed_weight, interrupt);
  switch (mode) {
    case SearchMode::greedy:
      return grow_greedy(grower, penalty, max_depth);
    case SearchMode::stumps:
      return grow_stumps(grower, penalty, max_depth);
    default:
      return grow_layerwise(grower, penalty, max_depth);
  }
}

}  // namespace mddf::boosting
