// Growing the tree of one round, for any number of outputs.
#pragma once

#include <memory>

#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "gradient_boosting/rounded.hpp"
#include "gradient_boosting/tree.hpp"

namespace mddf::gradient {

class Grower {
 public:
  virtual ~Grower() = default;
  // The result is valid until the next call.
  virtual const Grown& grow(const Gradients& of, Random& random, Team& team,
                            Interrupt& interrupt) = 0;
};

// Makes a grower with the narrowest sums that hold all outputs. If hessians are not 1 for each
// row, `min_samples_leaf` needs a separate count of rows.
std::unique_ptr<Grower> make_grower(const Columns& columns, const Options& options,
                                    bool real_weights, bool any_weights);

// Growers with sums of kWidth numbers, kOutputs of them gradients. Each width is instantiated in a
// source file of its own.
template <int kWidth, int kOutputs>
std::unique_ptr<Grower> make_grower_of(const Columns& columns, const Options& options,
                                       bool counts_rows, bool has_count);

}  // namespace mddf::gradient
