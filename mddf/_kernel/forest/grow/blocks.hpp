// forest/grow: grows trees. This header has the functions that the bindings call. Input: training
// data, options, a sampling, and a seed for each tree. Output: trees, predictions of held-out rows,
// and importances.
//
// grower.hpp grows a single tree, class_block.hpp and value_block.hpp grow blocks of trees. The
// templates take long to compile. Each criterion is therefore instantiated in a source file of its
// own (gini_trees.cpp and others), and no other file includes them.
#pragma once

#include <cstdint>

#include "common/interrupt.hpp"
#include "common/span.hpp"
#include "forest/data/training.hpp"
#include "forest/split/divided_rows.hpp"
#include "forest/tree/trees.hpp"
#include "forest/tree/value_trees.hpp"

namespace mddf {

constexpr uint32_t kMaxSampleCount = UINT16_MAX;  // largest count of a row in the samples of a tree

// The trees to grow on the rows of this process.
struct Block {
  GrowOptions options;
  Sampling sampling;
  HeldOut held_out;
  Span<uint64_t> seeds;  // of each tree
  double* importances;   // a row of n_columns for each tree, or null
};

GrownTrees grow_block(const TrainingSet& data, const Block& block, Interrupt& interrupt);
GrownValueTrees grow_block(const ValueTraining& data, const Block& block, Interrupt& interrupt);

// The trees to grow on divided rows, with sums that are exact.
struct DividedBlock {
  GrowOptions options;
  Span<uint64_t> seeds;
  int64_t n_draws;  // a tree begins after so many numbers of its seed
  double* importances;
};

GrownTrees grow_divided(const TrainingSet& data, const DividedBlock& block, DividedClassRows& rows,
                        Interrupt& interrupt);
GrownValueTrees grow_divided(const ValueTraining& data, const DividedBlock& block,
                             DividedValueRows& rows, Interrupt& interrupt);

// Instantiations by criterion, among which the functions above choose.
template <class Criterion>
GrownTrees grow_classes(const TrainingSet& data, const Block& block, Interrupt& interrupt);
template <Loss kLoss>
GrownValueTrees grow_values(const ValueTraining& data, const Block& block, Interrupt& interrupt);
template <>  // leaves hold medians
GrownValueTrees grow_values<Loss::kAbsoluteError>(const ValueTraining& data, const Block& block,
                                                  Interrupt& interrupt);
template <Loss kLoss>
GrownValueTrees grow_divided_by(const ValueTraining& data, const DividedBlock& block,
                                DividedValueRows& rows, Interrupt& interrupt);

}  // namespace mddf
