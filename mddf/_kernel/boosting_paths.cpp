#include "boosting_paths.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <unordered_map>

#include "boosting_vote.hpp"

namespace mddf::boosting {

namespace {

constexpr std::size_t kGramBytes = std::size_t{1} << 28; // products kept between rounds
constexpr std::size_t kRoundsPerRefresh = 4096;          // rounding errors do not pile up
constexpr double kTieRelative = 1e-10; // decreases that differ by less are equal
constexpr double kTieEdge = 1e-11;

int popcount(std::uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555ULL;
    x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    return static_cast<int>((x * 0x0101010101010101ULL) >> 56);
}

// Weighted inner products of one voter with all voters, made when first asked for. Voters in
// {-1, +1} under equal weights are compared 64 rows at a time.
template <class Value> class Products {
public:
    Products(const Value *values, std::size_t n_voters, std::size_t n_rows, const double *weight)
        : values_(values), n_voters_(n_voters), n_rows_(n_rows), weight_(weight),
          scratch_(n_rows) {
        const bool equal = std::all_of(weight, weight + n_rows,
                                       [&](double w) { return w == weight[0]; });
        const bool signs = std::is_same_v<Value, std::int8_t> &&
                           std::all_of(values, values + n_voters * n_rows,
                                       [](Value v) { return v == 1 || v == -1; });
        if (equal && signs) {
            pack();
        }
    }

    const double *column(std::size_t k) {
        const auto found = kept_.find(k);
        if (found != kept_.end()) {
            return found->second.data();
        }
        if ((kept_.size() + 1) * n_voters_ * sizeof(double) > kGramBytes) {
            kept_.clear();
        }
        std::vector<double> &column = kept_[k];
        column.resize(n_voters_);
        if (words_ > 0) {
            packed_column(k, column.data());
        } else {
            for (std::size_t i = 0; i < n_rows_; ++i) {
                scratch_[i] = weight_[i] * static_cast<double>(values_[k * n_rows_ + i]);
            }
            voter_edges(values_, n_voters_, n_rows_, scratch_.data(), column.data());
        }
        return column.data();
    }

private:
    void pack() {
        words_ = (n_rows_ + 63) / 64;
        bits_.assign(n_voters_ * words_, 0);
        for (std::size_t j = 0; j < n_voters_; ++j) {
            for (std::size_t i = 0; i < n_rows_; ++i) {
                const std::uint64_t bit = values_[j * n_rows_ + i] > 0 ? 1 : 0;
                bits_[j * words_ + i / 64] |= bit << (i % 64);
            }
        }
    }

    void packed_column(std::size_t k, double *column) const {
        const std::uint64_t *mine = bits_.data() + k * words_;
        for (std::size_t j = 0; j < n_voters_; ++j) {
            const std::uint64_t *other = bits_.data() + j * words_;
            long differ = 0;
            for (std::size_t w = 0; w < words_; ++w) {
                differ += popcount(mine[w] ^ other[w]);
            }
            const double n = static_cast<double>(n_rows_);
            column[j] = (n - 2.0 * static_cast<double>(differ)) / n;
        }
    }

    const Value *values_;
    std::size_t n_voters_, n_rows_;
    const double *weight_;
    std::vector<double> scratch_;
    std::size_t words_ = 0; // 0: not packed
    std::vector<std::uint64_t> bits_;
    std::unordered_map<std::size_t, std::vector<double>> kept_;
};

struct Move {
    double alpha;    // the new weight
    double decrease; // of the objective, >= 0
};

// The exact minimiser along one coordinate and what it gains, in forms that do not cancel: with
// z = r + eta * alpha the objective along it is eta a^2 - 2 z a + its penalty. `inverse` is 1 /
// eta, or 1 / (eta + lambda) with "l2".
template <QuadPenalty penalty>
Move best_move(double alpha, double r, double eta, double inverse, double strength) {
    if constexpr (penalty == QuadPenalty::none) {
        return {alpha + r * inverse, r * r * inverse};
    }
    if constexpr (penalty == QuadPenalty::l2) {
        const double pull = r - strength * alpha;
        return {alpha + pull * inverse, pull * pull * inverse};
    }
    const double z = r + eta * alpha;
    if constexpr (penalty == QuadPenalty::linf) {
        const double to = std::clamp(z * inverse, -strength, strength);
        const double moved = alpha - to;
        return {to, eta * moved * moved + 2.0 * moved * (eta * to - z)};
    }
    if (std::fabs(z) <= strength) {
        return {0.0, eta * alpha * alpha + 2.0 * (strength * std::fabs(alpha) - z * alpha)};
    }
    const double to = (z > 0.0 ? z - strength : z + strength) * inverse;
    const double moved = alpha - to;
    const bool crosses = alpha * to < 0.0;
    return {to, eta * moved * moved + (crosses ? 4.0 * strength * std::fabs(alpha) : 0.0)};
}

// The voters of a QuadBoost run: their weights and their correlations with the residual.
template <class Value> class Coordinates {
public:
    Coordinates(const Value *values, std::size_t n_voters, std::size_t n_rows, const double *y,
                const double *weight, const QuadSettings &settings)
        : alpha(n_voters, 0.0), r(n_voters), values_(values), n_rows_(n_rows), y_(y),
          weight_(weight), settings_(settings), eta_(n_voters, 0.0), inverse_(n_voters) {
        const double ridge = settings.penalty == QuadPenalty::l2 ? settings.lambda : 0.0;
        for (std::size_t j = 0; j < n_voters; ++j) {
            for (std::size_t i = 0; i < n_rows; ++i) {
                const auto h = static_cast<double>(values[j * n_rows + i]);
                eta_[j] += weight[i] * h * h;
            }
            inverse_[j] = eta_[j] > 0.0 ? 1.0 / (eta_[j] + ridge) : 0.0;
        }
        correlate();
    }

    // Computes r afresh from the weights.
    void correlate() {
        std::vector<double> residual(n_rows_);
        for (std::size_t i = 0; i < n_rows_; ++i) {
            residual[i] = weight_[i] * y_[i];
        }
        for (std::size_t j = 0; j < alpha.size(); ++j) {
            for (std::size_t i = 0; alpha[j] != 0.0 && i < n_rows_; ++i) {
                residual[i] -= weight_[i] * alpha[j] * static_cast<double>(values_[j * n_rows_ + i]);
            }
        }
        voter_edges(values_, alpha.size(), n_rows_, residual.data(), r.data());
    }

    // The voter whose move lowers the objective most, the first among equals.
    std::size_t best(Move &move) const {
        switch (settings_.penalty) {
        case QuadPenalty::l1: return search<QuadPenalty::l1>(settings_.lambda, move);
        case QuadPenalty::l2: return search<QuadPenalty::l2>(settings_.lambda, move);
        case QuadPenalty::linf: return search<QuadPenalty::linf>(settings_.alpha_max, move);
        default: return search<QuadPenalty::none>(0.0, move);
        }
    }

    std::vector<double> alpha, r;

private:
    template <QuadPenalty penalty> std::size_t search(double strength, Move &move) const {
        std::size_t best = 0;
        double limit = 0.0;
        move = {0.0, 0.0};
        for (std::size_t j = 0; j < alpha.size(); ++j) {
            const Move candidate =
                best_move<penalty>(alpha[j], r[j], eta_[j], inverse_[j], strength);
            if (candidate.decrease > limit) {
                best = j;
                move = candidate;
                limit = candidate.decrease * (1.0 + kTieRelative);
            }
        }
        return best;
    }

    const Value *values_;
    std::size_t n_rows_;
    const double *y_, *weight_;
    QuadSettings settings_;
    std::vector<double> eta_, inverse_;
};

} // namespace

template <class Value>
BoostingPath quadboost_path(const Value *values, std::size_t n_voters, std::size_t n_rows,
                            const double *y, const double *weight, const QuadSettings &settings) {
    Coordinates<Value> voters(values, n_voters, n_rows, y, weight, settings);
    Products<Value> products(values, n_voters, n_rows, weight);
    double objective = 0.0;
    for (std::size_t i = 0; i < n_rows; ++i) {
        objective += weight[i] * y[i] * y[i];
    }
    BoostingPath path;
    std::int64_t n_used = 0;
    for (std::size_t round = 0; round < settings.n_rounds; ++round) {
        if (round > 0 && round % kRoundsPerRefresh == 0) {
            voters.correlate();
        }
        Move move;
        const std::size_t best = voters.best(move);
        if (move.decrease <= settings.tolerance) {
            break;
        }
        double &alpha = voters.alpha[best];
        const double step = move.alpha - alpha;
        n_used += (alpha == 0.0 ? 1 : 0) - (move.alpha == 0.0 ? 1 : 0);
        objective -= move.decrease;
        path.voter.push_back(static_cast<std::int64_t>(best));
        path.step.push_back(step);
        path.objective.push_back(objective);
        path.edge.push_back(voters.r[best]);
        path.n_voters.push_back(n_used);
        alpha = move.alpha;
        const double *product = products.column(best);
        for (std::size_t j = 0; j < n_voters; ++j) {
            voters.r[j] -= step * product[j];
        }
    }
    return path;
}

template BoostingPath quadboost_path(const std::int8_t *, std::size_t, std::size_t, const double *,
                                     const double *, const QuadSettings &);
template BoostingPath quadboost_path(const double *, std::size_t, std::size_t, const double *,
                                     const double *, const QuadSettings &);

BoostingPath adaboost_path(const std::int8_t *values, std::size_t n_voters, std::size_t n_rows,
                           const double *y, const double *weight, std::size_t n_rounds,
                           double least_error) {
    std::vector<double> margin(n_rows, 0.0), edges(n_voters), signed_weight(n_rows),
        alpha(n_voters, 0.0);
    BoostingPath path;
    std::int64_t n_used = 0;
    for (std::size_t round = 0; round < n_rounds; ++round) {
        const double least = *std::min_element(margin.begin(), margin.end());
        double total = 0.0;
        for (std::size_t i = 0; i < n_rows; ++i) {
            const double w = weight[i] * std::exp(least - margin[i]);
            total += w;
            signed_weight[i] = w * y[i];
        }
        voter_edges(values, n_voters, n_rows, signed_weight.data(), edges.data());
        std::size_t best = 0;
        for (std::size_t j = 1; j < n_voters; ++j) {
            if (std::fabs(edges[j]) > std::fabs(edges[best]) + kTieEdge * total) {
                best = j;
            }
        }
        const double edge = edges[best] / total;
        if (std::fabs(edge) <= kTieEdge) {
            break;
        }
        const double error = std::max(least_error, 0.5 - std::fabs(edge) / 2.0);
        const double step = std::copysign(0.5 * std::log((1.0 - error) / error), edge);
        n_used += alpha[best] == 0.0 ? 1 : 0;
        alpha[best] += step;
        n_used -= alpha[best] == 0.0 ? 1 : 0;
        double loss = 0.0;
        for (std::size_t i = 0; i < n_rows; ++i) {
            margin[i] += step * y[i] * values[best * n_rows + i];
            loss += weight[i] * std::exp(-margin[i]);
        }
        path.voter.push_back(static_cast<std::int64_t>(best));
        path.step.push_back(step);
        path.objective.push_back(loss);
        path.edge.push_back(edge);
        path.n_voters.push_back(n_used);
        if (error <= least_error) {
            break;
        }
    }
    return path;
}

} // namespace mddf::boosting
