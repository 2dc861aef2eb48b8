#include "gradient_boosting/grower.hpp"

namespace mddf::gradient {

std::unique_ptr<Grower> make_grower(const Columns& columns, const Options& options,
                                    bool real_weights, bool any_weights) {
  const bool counts_rows = options.unit_splits() && !real_weights;
  const bool has_count = options.min_samples_leaf > 1 && (!counts_rows || any_weights);
  const int n_sums = options.width() + 1 + has_count;
  if (n_sums <= 2) return make_grower_of<2, 1>(columns, options, counts_rows, has_count);
  if (options.width() == 1) return make_grower_of<4, 1>(columns, options, counts_rows, has_count);
  if (n_sums <= 4) return make_grower_of<4, 3>(columns, options, counts_rows, has_count);
  return make_grower_of<8, 7>(columns, options, counts_rows, has_count);
}

}  // namespace mddf::gradient
