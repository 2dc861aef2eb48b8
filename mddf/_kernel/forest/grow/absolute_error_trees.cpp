#include "forest/grow/value_block.hpp"
#include "forest/split/absolute_search.hpp"

namespace mddf {

template <>
GrownValueTrees grow_values<Loss::kAbsoluteError>(const ValueTraining& data, const Block& block,
                                                  Interrupt& interrupt) {
  if (data.target.n_outputs == 1)
    return grow_with<NodeValues<true>, AbsoluteSearch<true>>(data, block, interrupt);
  return grow_with<NodeValues<false>, AbsoluteSearch<false>>(data, block, interrupt);
}

}  // namespace mddf
