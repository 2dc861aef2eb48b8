// Gradient boosting on a coded table.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gradient_boosting/columns.hpp"
#include "gradient_boosting/grower.hpp"
#include "gradient_boosting/leaf_sums.hpp"
#include "gradient_boosting/loss.hpp"
#include "gradient_boosting/options.hpp"
#include "gradient_boosting/trees.hpp"

namespace mddf::gradient {

// What is known of all rows of a table: numbers or classes, and weights or null. Weights that are
// whole numbers make a row count as so many.
struct Target {
  const double* y;
  const double* weights;
  bool whole_weights;
  const uint64_t* keys;  // rows of the same key are drawn together; null draws each by itself
};

// Boosting on some rows of a table, while others are looked at. What has been grown so far can be
// asked for at any time, and more be grown.
class Booster {
 public:
  // Rows are in the order in which they are drawn; none of `train` has weight 0. Raw predictions
  // begin with `start`, of all rows of the table, or where the loss has it if that is null.
  Booster(std::shared_ptr<const TableCodes> codes, const Bins& bins, const Target& target,
          std::vector<int32_t> train, std::vector<int32_t> held_out, const Options& options,
          const double* start, Interrupt& interrupt);

  // Grows one tree for each seed, or stops after so many (`patience`, 0 for never) in a row that
  // did not lower the loss of the rows held out by more than `tol` below the least one before.
  // Returns whether it stopped.
  bool grow(const uint64_t* seeds, int64_t n_seeds, int64_t patience, double tol, Team& team,
            Interrupt& interrupt);

  const BoostedTrees& trees() const { return trees_; }
  const std::vector<double>& start() const { return start_; }
  // After each round, and before the first one.
  const std::vector<double>& train_losses() const { return train_losses_; }
  const std::vector<double>& losses() const { return losses_; }
  // The number of rounds with the least loss, and raw predictions of the rows held out after it.
  int64_t best_round() const { return best_round_; }
  const std::vector<double>& best_raw() const { return best_raw_; }
  const std::vector<double>& held_out_raw() const { return held_raw_; }
  bool watches_training() const { return watches_training_; }
  void watch_training() { watches_training_ = true; }

 private:
  void draw_rows(Random& random, Team& team);
  void set_gradients(Team& team);
  void add_to_raw(const Grown& tree, const std::vector<double>& values, Team& team);
  std::vector<double> leaf_values(const GrownTree& grown, const LeafSums& sums) const;
  std::vector<double> newton_values(const LeafSums& sums) const;
  std::vector<double> quantile_values(const Grown& tree) const;
  void add_to_held_out(const Grown& tree, const std::vector<double>& values);
  double held_out_loss(Team& team);
  void note_loss(Team& team);
  void note_training_loss();

  Options options_;
  LossOf loss_;
  Columns columns_;
  const std::vector<int32_t>& train_;
  std::vector<int32_t> held_out_;
  std::vector<double> y_, weights_;
  std::vector<uint64_t> keys_;
  std::vector<double> held_y_, held_weights_;
  bool whole_weights_;
  std::vector<double> summed_weights_;  // whole numbers of a unit; empty for 1 each
  double weight_unit_ = 1;
  std::vector<double> start_, raw_, held_raw_, best_raw_;
  std::vector<double> gradient_, hessian_;
  bool are_gradients_set_ = false;  // they are those of the raw predictions
  std::vector<double> loss_of_;     // of each row, while they are added up
  double largest_gradient_ = 0, largest_hessian_ = 0;
  std::vector<uint8_t> is_drawn_;
  std::unique_ptr<Grower> grower_;
  BoostedTrees trees_;
  std::vector<double> losses_, train_losses_;
  int64_t best_round_ = 0;
  bool watches_training_ = false;
  bool is_training_loss_due_ = false;  // those of each row are set, and not yet added up
};

struct TreeArrays {
  int width;
  bool symmetric;
  const int64_t *first_split, *first_leaf;
  const int32_t *column, *set, *left, *right;
  const uint8_t *shift, *threshold;
  const uint64_t* sets;
  const double* values;
  // Of trees that have them (`LeafBits`):
  const uint64_t* left_leaves = nullptr;
  const uint8_t *leaf_of_bit = nullptr, *has_bits = nullptr;
};

// Of trees of at most 64 leaves that are not symmetric, the leaves as bits, the leftmost one the
// lowest: which of them are on the left of each split, and the number of each.
struct LeafBits {
  LeafBits(const TreeArrays& trees, int64_t n_trees);
  std::vector<uint64_t> left_leaves;
  std::vector<uint8_t> leaf_of_bit, has_bits;
};

// Adds what trees [first, last) say of rows of codes to `out`, one number for each of the width.
void add_raw(const TreeArrays& trees, int64_t first, int64_t last, const uint8_t* codes,
             int64_t n_rows, int64_t n_columns, double* out, Interrupt& interrupt);
// The number of the leaf that each row ends in, of each tree.
void find_leaves(const TreeArrays& trees, int64_t n_trees, const uint8_t* codes, int64_t n_rows,
                 int64_t n_columns, int32_t* out, Interrupt& interrupt);

}  // namespace mddf::gradient
