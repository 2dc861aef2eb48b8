#include "forest/grow/blocks.hpp"

#include "forest/split/criterion.hpp"

namespace mddf {

GrownTrees grow_block(const TrainingSet& data, const Block& block, Interrupt& interrupt) {
  return block.options.entropy ? grow_classes<Entropy>(data, block, interrupt)
                               : grow_classes<Gini>(data, block, interrupt);
}

GrownValueTrees grow_block(const ValueTraining& data, const Block& block, Interrupt& interrupt) {
  switch (block.options.loss) {
    case Loss::kPoisson:
      return grow_values<Loss::kPoisson>(data, block, interrupt);
    case Loss::kEntropy:
      return grow_values<Loss::kEntropy>(data, block, interrupt);
    case Loss::kAbsoluteError:
      return grow_values<Loss::kAbsoluteError>(data, block, interrupt);
    default:
      return grow_values<Loss::kSquaredError>(data, block, interrupt);
  }
}

GrownValueTrees grow_divided(const ValueTraining& data, const DividedBlock& block,
                             DividedValueRows& rows, Interrupt& interrupt) {
  return block.options.loss == Loss::kPoisson
             ? grow_divided_by<Loss::kPoisson>(data, block, rows, interrupt)
             : grow_divided_by<Loss::kSquaredError>(data, block, rows, interrupt);
}

}  // namespace mddf
