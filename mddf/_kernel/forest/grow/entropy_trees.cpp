#include "forest/grow/class_block.hpp"

namespace mddf {

template GrownTrees grow_classes<Entropy>(const TrainingSet&, const Block&, Interrupt&);

}  // namespace mddf
