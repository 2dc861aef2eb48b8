#include "gradient_boosting/boost.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "common/bits.hpp"
#include "gradient_boosting/offset.hpp"
#include "gradient_boosting/quantile_leaves.hpp"
#include "gradient_boosting/shortener.hpp"
#include "gradient_boosting/steps.hpp"

namespace mddf::gradient {
namespace {

// Largest leaf value: sums over all rounds and their squares stay finite at any learning rate.
constexpr double kMaxValue = 1e90;

// Numbers of some rows of a table with `width` numbers for each row; empty if there is none.
template <class T>
std::vector<T> rows_of(const T* of, size_t width, const std::vector<int32_t>& rows) {
  if (!of) return {};
  std::vector<T> values(rows.size() * width);
  T* to = values.data();
  for (const int32_t row : rows) to = std::copy_n(of + int64_t{row} * width, width, to);
  return values;
}

// Raw predictions before the first tree: of single rows of the table, or a constant. The offsets
// of the rows are added, unless there are none.
std::vector<double> initial_raw(const std::vector<double>& constant, const double* table_raw,
                                const std::vector<double>& offset,
                                const std::vector<int32_t>& rows) {
  const size_t width = constant.size();
  std::vector<double> raw(rows.size() * width);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t k = 0; k < width; ++k)
      raw[i * width + k] = table_raw ? table_raw[rows[i] * width + k] : constant[k];
  for (size_t at = 0; at < offset.size(); ++at) raw[at] += offset[at];
  return raw;
}

}  // namespace

Booster::Booster(std::shared_ptr<const TableCodes> codes, const Bins& bins, const Target& target,
                 std::vector<int32_t> train, std::vector<int32_t> held_out, const Options& options,
                 const double* start, const Shards& shards, Interrupt& interrupt)
    : options_(options),
      shards_(shards),
      loss_(options_),
      columns_(std::move(codes), bins, std::move(train), shards, interrupt),
      positions_(target.positions, columns_),
      train_(columns_.rows()),
      held_out_(std::move(held_out)),
      y_(rows_of(target.y, options_.target_width(), train_)),
      weights_(rows_of(target.weights, 1, train_)),
      row_weights_{weights_, target.weights != nullptr, target.whole_weights},
      keys_(rows_of(options_.subsample < 1 ? target.keys : nullptr, 1, train_)),
      held_y_(rows_of(target.y, options_.target_width(), held_out_)),
      held_weights_(rows_of(target.weights, 1, held_out_)),
      draws_by_key_(target.keys != nullptr),
      gradient_(train_.size() * options.width()),
      hessian_(gradient_.size()) {
  trees_.width = options_.width();
  // A pointer to the weights tells whether there are any, also on a shard without rows.
  if (row_weights_.are_any) weights_.reserve(1);
  summed_weights_ = weights_;
  if (row_weights_.are_real()) {
    const auto n = static_cast<int64_t>(weights_.size());
    const double largest = shards_.max(largest_of(weights_.data(), n, false));
    const double n_rows = shards_.sum(static_cast<double>(n));
    const int scale = rough_scale(largest, {nullptr, n_rows}, 50);
    weight_unit_ = unit_of(scale);
    for (double& weight : summed_weights_)
      weight = scale == kNoScale ? 1 : std::max(1.0, nearest(std::ldexp(weight, scale)));
  }
  const std::vector<double> offset = rows_of(target.offset, options_.width(), train_);
  if (start)
    start_.assign(options_.width(), 0.0);
  else if (target.offset)
    start_ = start_with_offset(options_, {y_, row_weights_, shards_, offset});
  else
    start_ = loss_.start(y_, row_weights_, shards_);
  loss_.set_least_large(target.offset ? differences(y_, offset) : y_, row_weights_, shards_);
  if (positions_.are_any()) trees_.first_slope.push_back(0);
  options_.split_l2 = options_.l2;
  if (!options_.newton_splits)
    weights_of_splits_ =
        row_weights_.are_real() ? weights_ : std::vector<double>(train_.size(), 1.0);
  if (options_.loss == Loss::kPoisson || options_.loss == Loss::kTweedie) {
    const double unit = curvature_unit();
    options_.l2 *= unit;
    options_.slope_l2 *= unit;
    if (options_.newton_splits) options_.split_l2 = options_.l2;
    options_.least_hessian *= unit;
  }
  if (shards_.sum(static_cast<double>(train_.size())) >= kManyRows) set_rounding_keys(interrupt);
  any_held_out_ = shards_.sum(static_cast<double>(held_out_.size())) > 0;
  raw_ = initial_raw(start_, start, offset, train_);
  held_raw_ =
      initial_raw(start_, start, rows_of(target.offset, options_.width(), held_out_), held_out_);
  grower_ = make_grower(columns_, options_, row_weights_.are_real(), row_weights_.are_any);
}

void Booster::set_rounding_keys(Interrupt& interrupt) {
  rounds_at_random_ = true;
  std::vector<uint64_t> hashes(train_.size());
  const int target_width = options_.target_width();
  for (size_t at = 0; at < y_.size(); ++at) {
    uint64_t& hash = hashes[at / target_width];
    hash = Random(hash ^ bit_cast<uint64_t>(y_[at])).next();
  }
  for (int c = 0; c < columns_.count(); ++c) {
    interrupt.poll(4 * columns_.n_rows());
    for (size_t i = 0; i < hashes.size(); ++i)
      hashes[i] = Random(hashes[i] ^ columns_[c].codes[train_[i]]).next();
  }
  rounding_keys_.reserve(hashes.size());
  for (const uint64_t hash : hashes) rounding_keys_.push_back(static_cast<uint32_t>(hash >> 32));
}

// Unit of the second derivatives. The penalty and the least hessian are multiplied by it, so that
// they do not depend on the unit of the targets: second derivatives of the Poisson loss are
// predictions, and those of the Tweedie loss change by 2^(2 - p) if targets are doubled.
double Booster::curvature_unit() const {
  double sum = 0;
  const int width = options_.target_width();
  for (int k = 0; k < width; ++k) {
    const double mean = width == 1 ? exact_mean(y_, row_weights_, shards_)
                                   : exact_mean(column_of(y_, k, width), row_weights_, shards_);
    if (!(mean > 0))
      sum += 1;
    else if (options_.loss == Loss::kPoisson)
      sum += mean;
    else
      sum += exponential((2 - options_.tweedie_power) * logarithm(mean));
  }
  return sum / width;
}

void Booster::take_gradients(const double* gradient, const double* hessian) {
  for (size_t at = 0; at < gradient_.size(); ++at) gradient_[at] = -gradient[at];
  std::copy_n(hessian, hessian_.size(), hessian_.begin());
  // Rows of a whole weight k count k times. Their derivatives are those of one copy.
  if (row_weights_.are_any && row_weights_.are_whole) {
    const int width = trees_.width;
    for (size_t at = 0; at < gradient_.size(); ++at) {
      gradient_[at] /= weights_[at / width];
      hessian_[at] /= weights_[at / width];
    }
  }
  const auto n = static_cast<int64_t>(gradient_.size());
  largest_gradient_ = largest_of(gradient_.data(), n, options_.uses_simd());
  largest_hessian_ = largest_of(hessian_.data(), n, options_.uses_simd());
  are_gradients_set_ = true;
}

bool Booster::grow(const uint64_t* seeds, const double* rates, int64_t n_seeds, int64_t patience,
                   double tol, Team& team, Interrupt& interrupt) {
  const auto n = static_cast<int64_t>(train_.size());
  const int width = trees_.width;
  const double* whole = row_weights_.are_any && row_weights_.are_whole ? weights_.data() : nullptr;
  double total = static_cast<double>(n);
  if (whole) total = 0;
  for (int64_t i = 0; whole && i < n; ++i) total += whole[i];
  total = shards_.sum(total);
  loss_.prepare(raw_, y_, row_weights_, shards_);
  if (losses_.empty() && train_losses_.empty()) note_loss(team);
  for (int64_t round = 0; round < n_seeds; ++round) {
    if (patience > 0 && trees_.n_trees() - best_round_ >= patience) break;
    interrupt.poll(n * (width + 8));
    if (rates) options_.learning_rate = rates[round];
    Random random(seeds[round]);
    draw_rows(random, team);
    note_training_loss();
    if (!are_gradients_set_) set_gradients(team);
    const Gradients gradients{gradient_,
                              hessian_,
                              largest_gradient_,
                              largest_hessian_,
                              width,
                              {whole, total},
                              is_drawn_,
                              shards_,
                              options_.newton_splits ? nullptr : &weights_of_splits_,
                              rounds_at_random_ ? &rounding_keys_ : nullptr};
    const Grown& tree = grower_->grow(gradients, random, team, interrupt);
    const LeafSums sums =
        LeafAdder(gradients, summed_weights_, tree, options_.uses_simd()).sums(team);
    const LeafValues values = leaf_values(tree, sums, gradients, team);
    add_to_raw(tree, values, team);
    are_gradients_set_ = false;
    add_to_held_out(tree, values);
    std::vector<double> weights = sums.weights;
    for (double& weight : weights) weight *= weight_unit_;
    trees_.add(columns_, tree, options_.symmetric, values, std::move(weights));
    loss_.prepare(raw_, y_, row_weights_, shards_);
    const double before = losses_.empty() ? 0 : losses_[best_round_];
    note_loss(team);
    if (!losses_.empty() && losses_.back() < before - tol) {
      best_round_ = trees_.n_trees();
      best_raw_ = held_raw_;
    }
  }
  note_training_loss();
  return patience > 0 && trees_.n_trees() - best_round_ >= patience;
}

void Booster::set_gradients(Team& team) {
  const int width = trees_.width, target_width = options_.target_width();
  const bool weighs = row_weights_.are_real();
  largest_gradient_ = largest_hessian_ = 0;
  are_gradients_set_ = true;
  if (watches_training_) row_losses_.resize(std::max(row_losses_.size(), train_.size()));
  std::mutex merging;
  team.ranges(static_cast<int64_t>(train_.size()), kFewRows, [&](int64_t first, int64_t last) {
    const int64_t together = loss_.rows_together();
    double largest_gradient = 0, largest_hessian = 0;
    for (int64_t row = first; row < last; row += together) {
      const int64_t n = std::min(together, last - row);
      double *gradient = gradient_.data() + row * width, *hessian = hessian_.data() + row * width;
      loss_.gradients(raw_.data() + row * width, y_.data() + row * target_width, n, gradient,
                      hessian, watches_training_ ? row_losses_.data() + row : nullptr);
      for (int64_t i = 0; weighs && i < n * width; ++i) {
        gradient[i] *= weights_[row + i / width];
        hessian[i] *= weights_[row + i / width];
      }
      const bool use_simd = options_.uses_simd();
      largest_gradient = std::max(largest_gradient, largest_of(gradient, n * width, use_simd));
      largest_hessian = std::max(largest_hessian, largest_of(hessian, n * width, use_simd));
    }
    std::lock_guard<std::mutex> lock(merging);
    largest_gradient_ = std::max(largest_gradient_, largest_gradient);
    largest_hessian_ = std::max(largest_hessian_, largest_hessian);
  });
  double largest[2] = {largest_gradient_, largest_hessian_};
  shards_.max(largest, 2);
  largest_gradient_ = largest[0];
  largest_hessian_ = largest[1];
}

void Booster::add_to_raw(const Grown& tree, const LeafValues& values, Team& team) {
  if (values.are_linear()) return add_linear_to_raw(tree, values, team);
  const int width = trees_.width;
  team.ranges(static_cast<int64_t>(train_.size()), kFewRows, [&](int64_t first, int64_t last) {
    const double* of = values.constants.data();
    const uint16_t* leaf_of = tree.leaf_of.data();
    double* raw = raw_.data();
    if (width == 1) {
      for (int64_t i = first; i < last; ++i) raw[i] += of[leaf_of[i]];
      return;
    }
    simd::with_vectors(options_.uses_simd(), [=]() MDDF_INLINED {
      for (int64_t i = first; i < last; ++i)
        for (int k = 0; k < width; ++k) raw[i * width + k] += of[int64_t{leaf_of[i]} * width + k];
    });
  });
}

void Booster::add_linear_to_raw(const Grown& tree, const LeafValues& values, Team& team) {
  const int width = trees_.width;
  team.ranges(static_cast<int64_t>(train_.size()), kFewRows, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      for (int k = 0; k < width; ++k)
        raw_[i * width + k] += values.at(tree.leaf_of[i], k, train_[i]);
  });
}

// Losses of training rows are computed together with the gradients of the next round.
void Booster::note_loss(Team& team) {
  if (options_.loss == Loss::kCustom) return;
  if (watches_training_) {
    set_gradients(team);
    is_training_loss_due_ = true;
  }
  if (!any_held_out_) return;
  note_training_loss();
  if (losses_.empty()) best_raw_ = held_raw_;
  losses_.push_back(held_out_loss(team));
}

// Weighted mean of `row_losses_`, added up in the order of the rows for any number of threads and
// shards. All rows of a copy of the table come before those of the next copy.
double Booster::mean_loss(const std::vector<double>& weights, int64_t n, int64_t n_copies) const {
  double sums[2] = {0, 0};
  for (int64_t copy = 0; copy < n_copies; ++copy) {
    shards_.in_row_order(sums, 2, [&](double* to) {
      double sum = to[0], total = to[1];
      for (int64_t i = copy * n / n_copies; i < (copy + 1) * n / n_copies; ++i) {
        const double weight = weights.empty() ? 1 : weights[i];
        sum += weight * row_losses_[i];
        total += weight;
      }
      to[0] = sum;
      to[1] = total;
    });
  }
  return sums[1] > 0 ? sums[0] / sums[1] : 0;
}

void Booster::note_training_loss() {
  if (!std::exchange(is_training_loss_due_, false)) return;
  const auto n = static_cast<int64_t>(train_.size());
  train_losses_.push_back(mean_loss(weights_, n, options_.n_copies));
}

double Booster::held_out_loss(Team& team) {
  const auto n = static_cast<int64_t>(held_out_.size());
  row_losses_.resize(std::max(row_losses_.size(), held_out_.size()));
  team.ranges(n, kFewRows, [&](int64_t first, int64_t last) {
    const int64_t width = trees_.width, together = loss_.rows_together();
    const int64_t target_width = options_.target_width();
    for (int64_t row = first; row < last; row += together)
      loss_.losses(held_raw_.data() + row * width, held_y_.data() + row * target_width,
                   std::min(together, last - row), row_losses_.data() + row);
  });
  return mean_loss(held_weights_, n, 1);
}

void Booster::draw_rows(Random& random, Team& team) {
  const bool all = !(options_.subsample < 1);
  if (all && options_.n_copies == 1) return;
  const auto n = static_cast<int64_t>(train_.size()) / options_.n_copies;
  const int64_t begin = trees_.n_trees() % options_.n_copies * n;
  is_drawn_.resize(train_.size());
  uint8_t* is_drawn = is_drawn_.data() + begin;
  if (options_.n_copies > 1) std::fill(is_drawn_.begin(), is_drawn_.end(), uint8_t{0});
  if (all) {
    std::fill_n(is_drawn, n, uint8_t{1});
    return;
  }
  if (!draws_by_key_) {
    for (int64_t i = 0; i < n; ++i) is_drawn[i] = random.uniform() < options_.subsample;
    return;
  }
  // One thread also averages the losses. There are four ranges for each thread, so that the other
  // threads take more of them meanwhile.
  const uint64_t round_key = random.next();
  const int64_t n_ranges = 4 * team.n_ranges(n, kFewRows);
  team.each(1 + n_ranges, [&](int64_t piece) {
    if (piece == 0) return note_training_loss();
    const uint64_t* keys = keys_.data() + begin;
    for (int64_t i = n * (piece - 1) / n_ranges; i < n * piece / n_ranges; ++i)
      is_drawn[i] = Random(round_key ^ keys[i]).uniform() < options_.subsample;
  });
}

LeafValues Booster::leaf_values(const Grown& tree, const LeafSums& sums, const Gradients& gradients,
                                Team& team) const {
  const int width = trees_.width;
  LeafValues values{width, constant_values(tree, sums), {}, {}, {}, {}};
  std::vector<StepOfLeaf> steps(tree.n_leaves());
  for (size_t at = 0; at < values.constants.size(); ++at)
    steps[at / width].add(sums.gradients[at] * sums.gradient_unit,
                          sums.hessians[at] * sums.hessian_unit, values.constants[at]);
  if (positions_.are_any()) {
    const std::vector<double> constants = values.constants;
    const LinearSteps linear =
        SlopeFitter(gradients, tree, columns_, positions_, options_.slope_l2, options_.uses_simd())
            .add_slopes(values, step_rate(options_.loss, options_.learning_rate), team);
    for (size_t at = 0; at < constants.size(); ++at)
      steps[at / width].add_linear(constants[at], linear.descent[at], linear.curvature[at],
                                   linear.reach[at]);
  }
  shorten(tree, steps, gradients.times, values, team);
  return values;
}

std::vector<double> Booster::constant_values(const Grown& tree, const LeafSums& sums) const {
  const int width = trees_.width;
  const double rate = step_rate(options_.loss, options_.learning_rate);
  std::vector<double> values =
      options_.quantile_leaves() ? quantile_values(tree) : newton_values(sums);
  for (size_t at = 0; at < values.size(); ++at) {
    const Bounds& limits = tree.limits[at / width];
    double value = values[at];
    if (!options_.monotonic.empty() && !options_.quantile_leaves())
      value = Bounds{limits.lower * tree.value_unit, limits.upper * tree.value_unit}.clip(value);
    values[at] = std::clamp(rate * value, -kMaxValue, kMaxValue);
  }
  return values;
}

std::vector<double> Booster::newton_values(const LeafSums& sums) const {
  std::vector<double> values(sums.gradients.size());
  for (size_t at = 0; at < values.size(); ++at) {
    values[at] = newton_step(options_.loss, sums.gradients[at] * sums.gradient_unit,
                             sums.hessians[at] * sums.hessian_unit, options_.l2);
  }
  return values;
}

void Booster::shorten(const Grown& tree, const std::vector<StepOfLeaf>& steps,
                      const Multiplicity& times, LeafValues& values, Team& team) const {
  const bool is_constrained = !options_.monotonic.empty();
  std::vector<uint8_t> may_rise(tree.n_leaves());
  bool any = false;
  for (size_t leaf = 0; leaf < may_rise.size(); ++leaf) {
    may_rise[leaf] = !cannot_rise(options_.loss, steps[leaf], options_.learning_rate);
    // A quantile that a constraint has moved may be too large a step for its leaf.
    if (is_constrained && options_.quantile_leaves()) may_rise[leaf] = 1;
    any |= may_rise[leaf] != 0;
  }
  if (!any) return;
  // The learning rate has no upper limit. Steps longer than twice the Newton step are first made
  // shorter than that.
  double first_factor = 0.5;
  const double rate = step_rate(options_.loss, options_.learning_rate);
  while (rate * first_factor > 2) first_factor /= 2;
  const double* real_weights = row_weights_.are_real() ? weights_.data() : nullptr;
  const TrainingRows rows{raw_,   y_,     options_.target_width(), times, real_weights, is_drawn_,
                          train_, shards_};
  Shortener(loss_, rows, tree, std::move(may_rise), is_constrained)
      .shorten(values, first_factor, team);
}

std::vector<double> Booster::quantile_values(const Grown& tree) const {
  const double share = options_.loss == Loss::kQuantile ? options_.quantile : 0.5;
  if (shards_.are_several()) {
    std::vector<double> rest(train_.size());
    for (size_t i = 0; i < rest.size(); ++i) rest[i] = y_[i] - raw_[i];
    const auto leaf_of = [&](int64_t i) {
      return is_drawn_.empty() || is_drawn_[i] ? int{tree.leaf_of[i]} : -1;
    };
    return quantiles_of_shards(rest, leaf_of, tree.n_leaves(), weights_, row_weights_.are_any,
                               share, shards_);
  }
  QuantileLeaves leaves(tree, share);
  for (size_t i = 0; i < train_.size(); ++i) {
    if (!is_drawn_.empty() && !is_drawn_[i]) continue;
    leaves.add(tree.leaf_of[i], y_[i] - raw_[i], row_weights_.are_any ? &weights_[i] : nullptr);
  }
  if (options_.monotonic.empty()) return leaves.values();
  return leaves.ordered_values(
      [&](int column) { return int{options_.monotonic[columns_[column].number]}; });
}

void Booster::add_to_held_out(const Grown& tree, const LeafValues& values) {
  const int width = trees_.width;
  const auto n = static_cast<int64_t>(held_out_.size());
  std::vector<uint16_t> leaf(n, 0);
  if (options_.symmetric) {
    find_symmetric_leaves(tree, columns_, held_out_.data(), 0, n, leaf.data(),
                          options_.uses_simd());
  } else {
    for (int64_t i = 0; i < n; ++i) leaf[i] = leaf_at(tree, columns_, held_out_[i]);
  }
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < width; ++k)
      held_raw_[i * width + k] += values.are_linear() ? values.at(leaf[i], k, held_out_[i])
                                                      : values.constants[leaf[i] * width + k];
}

}  // namespace mddf::gradient
