#include "forest/grow/class_block.hpp"

namespace mddf {

template GrownTrees grow_classes<Gini>(const TrainingSet&, const Block&, Interrupt&);

GrownTrees grow_divided(const TrainingSet& data, const DividedBlock& block, DividedClassRows& rows,
                        Interrupt& interrupt) {
  return grow_on_divided<ClassRules<BootstrapSample, Gini>>(data, block, rows, interrupt);
}

}  // namespace mddf
