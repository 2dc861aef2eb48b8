// The growers of subtrees of at most 64 samples. The growers of regression trees are compiled
// twice: for processors with AVX2 and for all others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/random.hpp"
#include "common/simd.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/small/small_vectors.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/node_values.hpp"
#include "forest/split/split.hpp"
#include "forest/split/threshold_sweep.hpp"
#include "forest/tree/value_writer.hpp"

namespace mddf {

// A node of a subtree; the mask of its root is set by grow_from().
struct SmallNode {
  uint32_t index, depth, n_constant;
  int32_t from_column;  // the column that the parent was split on
  uint64_t mask = 0;
  int64_t sum = 0;  // a sum that the rules keep for the node
};

class SmallValueTrees {
 public:
  virtual ~SmallValueTrees() = default;

  // Returns a grower, or null if subtrees cannot be grown this way or not as fast: without vectors,
  // masks take longer than the general code for completely random trees.
  static std::unique_ptr<SmallValueTrees> make(const ValueTraining& data,
                                               const GrowOptions& options, ColumnPool& pool,
                                               ValueWriter& writer);
  // Grows the subtree below a node with different targets.
  virtual void grow(SmallNode root, const RowSample* samples, int n, Random& random) = 0;
  // Must be called if the matrix of the training data was replaced.
  virtual void copy_last_rows() = 0;
};

}  // namespace mddf

#ifdef MDDF_AVX2
#define MDDF_SMALL avx2
#define MDDF_SMALL_TARGET MDDF_TARGET_AVX2
#define MDDF_SMALL_RANDOM
#include "forest/small/small_nodes.hpp"
#include "forest/small/small_random.hpp"
#include "forest/small/small_search.hpp"
namespace mddf::avx2 {
template <class Rules>
using SmallValueNodes = RandomSmallNodes<Rules, ValueWriter>;
}
#include "forest/small/small_values.hpp"
#undef MDDF_SMALL
#undef MDDF_SMALL_TARGET
#undef MDDF_SMALL_RANDOM
#endif

#define MDDF_SMALL plain
#define MDDF_SMALL_TARGET
#include "forest/small/small_nodes.hpp"
#include "forest/small/small_search.hpp"
namespace mddf::plain {
template <class Rules>
using SmallValueNodes = SmallNodes<Rules, ValueWriter>;
}
#include "forest/small/small_values.hpp"
#undef MDDF_SMALL
#undef MDDF_SMALL_TARGET

namespace mddf {

inline std::unique_ptr<SmallValueTrees> SmallValueTrees::make(const ValueTraining& data,
                                                              const GrowOptions& options,
                                                              ColumnPool& pool,
                                                              ValueWriter& writer) {
  if (options.limits_leaves() || options.weighs_splits() || options.loss != Loss::kSquaredError ||
      data.target.n_outputs != 1)
    return nullptr;
#ifdef MDDF_AVX2
  if (options.uses_simd() && (!options.random_thresholds || options.max_features == 1))
    return std::make_unique<avx2::SmallValues>(data, options, pool, writer);
#endif
  if (options.random_thresholds) return nullptr;
  return std::make_unique<plain::SmallValues>(data, options, pool, writer);
}

}  // namespace mddf
