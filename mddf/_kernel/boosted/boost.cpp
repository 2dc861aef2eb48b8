#include "boosted/boost.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace mddf::gradient {
namespace {

constexpr int64_t kLittle = 4096;  // rows
// Of leaves: sums over all rounds, and their squares, stay finite at any learning rate.
constexpr double kMostValue = 1e90;

template <class T>
std::vector<T> taken(const T* of, const std::vector<int32_t>& rows) {
  std::vector<T> values;
  if (!of) return values;
  values.reserve(rows.size());
  for (const int32_t row : rows) values.push_back(of[row]);
  return values;
}

std::vector<double> begin_with(const std::vector<double>& start, const double* given,
                               const std::vector<int32_t>& rows) {
  const size_t width = start.size();
  std::vector<double> raw(rows.size() * width);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t k = 0; k < width; ++k)
      raw[i * width + k] = given ? given[rows[i] * width + k] : start[k];
  return raw;
}

}  // namespace

Booster::Booster(const BinMatrix& matrix, const Bins& bins, const Target& target,
                 std::vector<int32_t> train, std::vector<int32_t> held_out, const Options& options,
                 const double* start, Interrupt& interrupt)
    : options_(options),
      loss_(options_),
      train_(std::move(train)),
      held_out_(std::move(held_out)),
      columns_(matrix, bins, train_, interrupt),
      held_columns_(columns_, matrix, held_out_, interrupt),
      y_(taken(target.y, train_)),
      weights_(taken(target.weights, train_)),
      keys_(taken(options_.subsample < 1 ? target.keys : nullptr, train_)),
      held_y_(taken(target.y, held_out_)),
      held_weights_(taken(target.weights, held_out_)),
      whole_weights_(target.whole_weights),
      gradient_(train_.size() * options.width()),
      hessian_(gradient_.size()) {
  trees_.width = options_.width();
  summed_weights_ = weights_;
  if (!weights_.empty() && !whole_weights_) {
    const auto n = static_cast<int64_t>(weights_.size());
    const int scale = rough_scale(weights_.data(), n, {nullptr, static_cast<double>(n)}, 50);
    weight_unit_ = scale == kNoScale ? 1 : std::ldexp(1.0, -scale);
    for (double& weight : summed_weights_)
      weight = scale == kNoScale ? 1 : std::max(1.0, nearest(std::ldexp(weight, scale)));
  }
  start_ = start ? std::vector<double>(options_.width(), 0.0)
                 : loss_.start(y_, weights_, whole_weights_);
  raw_ = begin_with(start_, start, train_);
  held_raw_ = begin_with(start_, start, held_out_);
  grower_ =
      make_grower(columns_, options_, target.weights && !whole_weights_, target.weights != nullptr);
}

bool Booster::grow(const uint64_t* seeds, int64_t n_seeds, int64_t patience, double tol, Team& team,
                   Interrupt& interrupt) {
  const auto n = static_cast<int64_t>(train_.size());
  const int width = trees_.width;
  const double* whole = whole_weights_ && !weights_.empty() ? weights_.data() : nullptr;
  double total = static_cast<double>(n);
  if (whole) total = 0;
  for (int64_t i = 0; whole && i < n; ++i) total += whole[i];
  loss_.prepare(raw_, y_, weights_);
  if (losses_.empty() && train_losses_.empty()) note_loss();
  for (int64_t round = 0; round < n_seeds; ++round) {
    if (patience > 0 && trees_.n_trees() - best_round_ >= patience) return true;
    interrupt.poll(n * (width + 8));
    Random random(seeds[round]);
    draw_rows(random);
    team.ranges(n, kLittle, [&](int64_t first, int64_t last) {
      loss_.gradients(raw_.data() + first * width, y_.data() + first, last - first,
                      gradient_.data() + first * width, hessian_.data() + first * width);
    });
    if (!whole && !weights_.empty()) {
      for (int64_t i = 0; i < n * width; ++i) {
        gradient_[i] *= weights_[i / width];
        hessian_[i] *= weights_[i / width];
      }
    }
    const GrownTree grown = grower_->grow({gradient_, hessian_, width, {whole, total}, is_drawn_},
                                          random, team, interrupt);
    const std::vector<double> values = leaf_values(grown, team);
    team.ranges(n, kLittle, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const double* of_leaf = values.data() + grown.tree.leaf_of[i] * width;
        for (int k = 0; k < width; ++k) raw_[i * width + k] += of_leaf[k];
      }
    });
    add_to_held_out(grown.tree, values);
    trees_.add(columns_, grown, options_.symmetric, values, leaf_weights(grown.tree, team));
    loss_.prepare(raw_, y_, weights_);
    const double before = losses_.empty() ? 0 : losses_[best_round_];
    note_loss();
    if (!losses_.empty() && losses_.back() < before - tol) {
      best_round_ = trees_.n_trees();
      best_raw_ = held_raw_;
    }
  }
  return patience > 0 && trees_.n_trees() - best_round_ >= patience;
}

void Booster::note_loss() {
  if (watches_training_) train_losses_.push_back(mean_loss(raw_, y_, weights_));
  if (held_out_.empty()) return;
  if (losses_.empty()) best_raw_ = held_raw_;
  losses_.push_back(mean_loss(held_raw_, held_y_, held_weights_));
}

double Booster::mean_loss(const std::vector<double>& raw, const std::vector<double>& y,
                          const std::vector<double>& weights) const {
  double sum = 0, total = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    sum += weight * loss_.of(raw.data() + i * trees_.width, y[i]);
    total += weight;
  }
  return total > 0 ? sum / total : 0;
}

void Booster::draw_rows(Random& random) {
  if (!(options_.subsample < 1)) return;
  is_drawn_.resize(train_.size());
  if (keys_.empty()) {
    for (uint8_t& drawn : is_drawn_) drawn = random.uniform() < options_.subsample;
    return;
  }
  const uint64_t of_round = random.next();
  for (size_t i = 0; i < keys_.size(); ++i)
    is_drawn_[i] = Random(of_round ^ keys_[i]).uniform() < options_.subsample;
}

std::vector<double> Booster::leaf_values(const GrownTree& grown, Team& team) const {
  const int width = trees_.width;
  std::vector<double> values =
      options_.quantile_leaves() ? quantile_values(grown.tree) : newton_values(grown.tree, team);
  for (size_t at = 0; at < values.size(); ++at) {
    const Limits& limits = grown.tree.limits[at / width];
    double value = values[at];
    if (!options_.monotonic.empty())
      value = Limits{limits.least * grown.value_unit, limits.most * grown.value_unit}.clip(value);
    values[at] = std::clamp(options_.learning_rate * value, -kMostValue, kMostValue);
  }
  return values;
}

// Sums of many more digits than those by which splits are found, but as exact.
std::vector<double> Booster::newton_values(const Grown& tree, Team& team) const {
  const auto n = static_cast<int64_t>(train_.size());
  const int width = trees_.width, n_leaves = tree.n_leaves();
  const double* whole = whole_weights_ && !weights_.empty() ? weights_.data() : nullptr;
  double total = static_cast<double>(n);
  for (int64_t i = 0; whole && i < n; ++i) total += whole[i] - 1;
  const Multiplicity times{whole, total};
  const auto sums = [&](const std::vector<double>& values, double& unit) {
    std::vector<double> found(n_leaves * width);
    const int scale = rough_scale(values.data(), n * width, times, 50);
    unit = scale == kNoScale ? 1 : std::ldexp(1.0, -scale);
    if (scale == kNoScale) return found;
    const double factor = std::ldexp(1.0, scale);
    std::mutex adding;
    team.ranges(n, kLittle, [&](int64_t first, int64_t last) {
      std::vector<double> part(n_leaves * width);
      for (int64_t i = first; i < last; ++i) {
        if (!is_drawn_.empty() && !is_drawn_[i]) continue;
        const double* of_row = values.data() + i * width;
        double* of_leaf = part.data() + tree.leaf_of[i] * width;
        for (int k = 0; k < width; ++k) of_leaf[k] += times[i] * nearest(of_row[k] * factor);
      }
      std::lock_guard<std::mutex> lock(adding);  // exact in any order
      for (size_t at = 0; at < part.size(); ++at) found[at] += part[at];
    });
    return found;
  };
  double gradient_unit, hessian_unit;
  std::vector<double> values = sums(gradient_, gradient_unit);
  const std::vector<double> hessians = sums(hessian_, hessian_unit);
  for (size_t at = 0; at < values.size(); ++at) {
    const double weight = hessians[at] * hessian_unit + options_.l2;
    values[at] = weight > 0 ? values[at] * gradient_unit / weight : 0;
  }
  return values;
}

// Exact in any order.
std::vector<double> Booster::leaf_weights(const Grown& tree, Team& team) const {
  std::vector<double> found(tree.n_leaves());
  std::mutex adding;
  team.ranges(static_cast<int64_t>(train_.size()), kLittle, [&](int64_t first, int64_t last) {
    std::vector<double> part(found.size());
    if (summed_weights_.empty()) {
      for (int64_t i = first; i < last; ++i) part[tree.leaf_of[i]] += 1;
    } else {
      for (int64_t i = first; i < last; ++i) part[tree.leaf_of[i]] += summed_weights_[i];
    }
    std::lock_guard<std::mutex> lock(adding);
    for (size_t leaf = 0; leaf < part.size(); ++leaf) found[leaf] += part[leaf];
  });
  for (double& weight : found) weight *= weight_unit_;
  return found;
}

std::vector<double> Booster::quantile_values(const Grown& tree) const {
  std::vector<std::vector<double>> rest(tree.n_leaves()), weights(tree.n_leaves());
  for (size_t i = 0; i < train_.size(); ++i) {
    if (!is_drawn_.empty() && !is_drawn_[i]) continue;
    rest[tree.leaf_of[i]].push_back(y_[i] - raw_[i]);
    if (!weights_.empty()) weights[tree.leaf_of[i]].push_back(weights_[i]);
  }
  const double share = options_.loss == Loss::kQuantile ? options_.quantile : 0.5;
  std::vector<double> values(tree.n_leaves());
  for (size_t leaf = 0; leaf < values.size(); ++leaf)
    values[leaf] = weighted_quantile(std::move(rest[leaf]), weights[leaf], share);
  return values;
}

void Booster::add_to_held_out(const Grown& tree, const std::vector<double>& values) {
  const int width = trees_.width;
  const auto n = static_cast<int64_t>(held_out_.size());
  std::vector<uint16_t> leaf(n, 0);
  if (options_.symmetric) {
    for (const Split& split : tree.splits) {
      const uint8_t* codes = held_columns_[split.column].codes;
      for (int64_t i = 0; i < n; ++i)
        leaf[i] = static_cast<uint16_t>(2 * leaf[i] + split.right[codes[i]]);
    }
    for (uint16_t& way : leaf) way = tree.leaf_of_way[way];
  } else {
    for (int64_t i = 0; i < n; ++i) leaf[i] = leaf_at(tree, held_columns_, i);
  }
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < width; ++k) held_raw_[i * width + k] += values[leaf[i] * width + k];
}

}  // namespace mddf::gradient
