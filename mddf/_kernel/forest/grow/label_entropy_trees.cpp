#include "forest/grow/value_block.hpp"

namespace mddf {

template GrownValueTrees grow_values<Loss::kEntropy>(const ValueTraining&, const Block&,
                                                     Interrupt&);

}  // namespace mddf
