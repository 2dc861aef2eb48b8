#include "forest/grow/value_block.hpp"

namespace mddf {

template GrownValueTrees grow_values<Loss::kSquaredError>(const ValueTraining&, const Block&,
                                                          Interrupt&);
template GrownValueTrees grow_divided_by<Loss::kSquaredError>(const ValueTraining&,
                                                              const DividedBlock&,
                                                              DividedValueRows&, Interrupt&);

}  // namespace mddf
