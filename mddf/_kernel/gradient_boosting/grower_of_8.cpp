#include "gradient_boosting/grower_of.hpp"

namespace mddf::gradient {

template std::unique_ptr<Grower> make_grower_of<8, 7>(const Columns&, const Options&, bool, bool);

}  // namespace mddf::gradient
