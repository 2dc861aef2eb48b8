// Gradient boosting on a table of codes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/fixed_point.hpp"
#include "gradient_boosting/grower.hpp"
#include "gradient_boosting/leaf_sums.hpp"
#include "gradient_boosting/linear_leaves.hpp"
#include "gradient_boosting/loss.hpp"
#include "gradient_boosting/options.hpp"
#include "gradient_boosting/steps.hpp"
#include "gradient_boosting/trees.hpp"

namespace mddf::gradient {

// Targets of all rows of a table (numbers, or numbers of classes), `target_width` of each row, and
// the weights of the rows or null. A row of whole weight k counts as k rows. `offset` has numbers
// that are added to the raw predictions of each row and do not belong to the model, or is null.
struct Target {
  const double* y;
  const double* offset;
  const double* weights;
  bool whole_weights;
  const uint64_t* keys;      // rows with the same key are drawn together; null draws single rows
  const int16_t* positions;  // of the codes, for linear leaves (`Positions`); null: constant leaves
};

// Boosts on some rows of a table and computes the loss of other rows. More trees can be grown at
// any time, after results of the trees so far were read.
class Booster {
 public:
  // `train` has only rows with a weight above 0. `start` has initial raw predictions for all rows
  // of the table, without their offsets; null stands for the best constant of the loss. With
  // several shards, the rows are those of one shard, and the trees are those of all rows.
  Booster(std::shared_ptr<const TableCodes> codes, const Bins& bins, const Target& target,
          std::vector<int32_t> train, std::vector<int32_t> held_out, const Options& options,
          const double* start, const Shards& shards, Interrupt& interrupt);

  // Grows one tree for each seed, with the learning rate of the same place in `rates`; null keeps
  // the present rate. Stops after `patience` trees in a row (0: never) that did not lower the
  // held-out loss to more than `tol` below the least loss before. Returns whether it stopped.
  bool grow(const uint64_t* seeds, const double* rates, int64_t n_seeds, int64_t patience,
            double tol, Team& team, Interrupt& interrupt);

  const BoostedTrees& trees() const { return trees_; }
  const std::vector<double>& start() const { return start_; }
  // Losses before the first round and after each round.
  const std::vector<double>& train_losses() const { return train_losses_; }
  const std::vector<double>& losses() const { return losses_; }
  // Number of rounds with the least held-out loss, and held-out raw predictions after these
  // rounds.
  int64_t best_round() const { return best_round_; }
  const std::vector<double>& best_raw() const { return best_raw_; }
  const std::vector<double>& held_out_raw() const { return held_raw_; }
  // Huber's threshold, with which boosting can be continued later.
  double large_residual() const { return loss_.large(); }
  void set_large_residual(double large) { loss_.set_large(large); }
  void watch_training() { watches_training_ = true; }
  // For kCustom: raw predictions of the training rows, and the gradients and hessians of the next
  // round, which are already multiplied by the weights of the rows.
  const std::vector<double>& train_raw() const { return raw_; }
  int64_t n_train() const { return static_cast<int64_t>(train_.size()); }
  void take_gradients(const double* gradient, const double* hessian);

 private:
  double curvature_unit() const;
  void set_rounding_keys(Interrupt& interrupt);
  void draw_rows(Random& random, Team& team);
  void set_gradients(Team& team);
  void add_to_raw(const Grown& tree, const LeafValues& values, Team& team);
  void add_linear_to_raw(const Grown& tree, const LeafValues& values, Team& team);
  std::vector<double> constant_values(const Grown& tree, const LeafSums& sums) const;
  // Values of the leaves, shortened where they would increase the loss.
  LeafValues leaf_values(const Grown& tree, const LeafSums& sums, const Gradients& gradients,
                         Team& team) const;
  std::vector<double> newton_values(const LeafSums& sums) const;
  // Halves the values of leaves that would increase the loss of the rows that were drawn.
  void shorten(const Grown& tree, const std::vector<StepOfLeaf>& steps, const Multiplicity& times,
               LeafValues& values, Team& team) const;
  std::vector<double> quantile_values(const Grown& tree) const;
  void add_to_held_out(const Grown& tree, const LeafValues& values);
  double held_out_loss(Team& team);
  void note_loss(Team& team);
  void note_training_loss();
  double mean_loss(const std::vector<double>& weights, int64_t n, int64_t n_copies) const;

  Options options_;
  Shards shards_;
  LossFunction loss_;
  Columns columns_;
  Positions positions_;
  const std::vector<int32_t>& train_;
  std::vector<int32_t> held_out_;
  std::vector<double> y_, weights_;
  const RowWeights row_weights_;
  std::vector<uint64_t> keys_;
  std::vector<double> held_y_, held_weights_;
  bool draws_by_key_;  // the same for all shards
  std::vector<double>
      summed_weights_;  // weights as multiples of `weight_unit_`; empty if all are 1
  double weight_unit_ = 1;
  std::vector<double> weights_of_splits_;  // empty if splits are scored by second derivatives
  std::vector<double> start_, raw_, held_raw_, best_raw_;
  std::vector<double> gradient_, hessian_;
  bool are_gradients_set_ = false;  // whether `gradient_` belongs to the present `raw_`
  std::vector<double> row_losses_;
  double largest_gradient_ = 0, largest_hessian_ = 0;
  std::vector<uint8_t> is_drawn_;
  std::unique_ptr<Grower> grower_;
  BoostedTrees trees_;
  std::vector<double> losses_, train_losses_;
  int64_t best_round_ = 0;
  // If there are kManyRows: a hash of the codes and targets of each row. The sum of all absolute
  // gradients has 30 bits, so that a gradient of 10^8 rows has 10 units on average, and small ones
  // would be rounded to 0 in every round. They are then rounded up as often as their fraction says,
  // by a hash of row and round. It depends neither on the order of the rows nor on shards.
  static constexpr double kManyRows = 1 << 23;
  bool rounds_at_random_ = false;  // the same for all shards
  std::vector<uint32_t> rounding_keys_;
  bool any_held_out_ = false;  // in any shard
  bool watches_training_ = false;
  bool is_training_loss_due_ = false;  // whether `row_losses_` of a round must still be averaged
};

struct TreeArrays {
  int width;
  bool symmetric;
  const int64_t *first_split, *first_leaf;
  const int32_t *column, *set, *left, *right;
  const uint8_t *shift, *threshold;
  const uint64_t* sets;
  const double* values;
  // From `LeafBits`, for trees that have them:
  const uint64_t* left_leaves = nullptr;
  const uint8_t *leaf_of_bit = nullptr, *has_bits = nullptr;
  // Slopes of linear leaves as in `BoostedTrees`, but beginning with 0, and the 256 positions of
  // the codes of each column; null if leaves are constant.
  const int64_t* first_slope = nullptr;
  const int32_t* slope_column = nullptr;
  const double* slopes = nullptr;
  const int16_t* positions = nullptr;
};

// Leaves as bits, for leaf-wise trees with at most 64 leaves. The leftmost leaf has the lowest
// bit. `left_leaves` has the leaves on the left of each split, `leaf_of_bit` the leaf of each bit.
struct LeafBits {
  LeafBits(const TreeArrays& trees, int64_t n_trees);
  std::vector<uint64_t> left_leaves;
  std::vector<uint8_t> leaf_of_bit, has_bits;
};

// Adds the leaf values of trees [first, last) for rows of codes to `out`, of shape (n_rows,
// width).
void add_raw(const TreeArrays& trees, int64_t first, int64_t last, const uint8_t* codes,
             int64_t n_rows, int64_t n_columns, double* out, Interrupt& interrupt);
// Finds the leaf of each tree that each row ends in.
void find_leaves(const TreeArrays& trees, int64_t n_trees, const uint8_t* codes, int64_t n_rows,
                 int64_t n_columns, int32_t* out, Interrupt& interrupt);

}  // namespace mddf::gradient
