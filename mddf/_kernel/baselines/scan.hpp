// One pass over all thresholds of all features, for one or several nodes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "baselines/ranked.hpp"
#include "common/interrupt.hpp"

namespace mddf::boosting {

struct Split {
  std::int32_t feature = -1;  // -1: nothing above the floor
  std::uint32_t code = 0;
  double score = 0.0;
};

// Signed weight of a row and the slot of its node, which share a cache line.
struct SlottedRow {
  double weight;
  std::uint32_t slot;
};

// Returns the best split of a single node that holds all rows: the largest |2 L - sum| above the
// floor, where L is the signed weight on the left.
Split scan_root(const RankedFeatures& features, const double* signed_weight, double sum,
                double floor, double tolerance, Interrupt& interrupt);

// The same for several nodes. rows[i].slot < sums.size(), or == sums.size() for rows in none.
std::vector<Split> scan_nodes(const RankedFeatures& features, const std::vector<SlottedRow>& rows,
                              const std::vector<double>& sums, double tolerance,
                              Interrupt& interrupt);

// Returns the best common split of two nodes (slots 0 and 1): the largest sum over both of |L| +
// |sum - L| above the floor.
Split scan_pair(const RankedFeatures& features, const std::vector<SlottedRow>& rows,
                const double sums[2], double floor, double tolerance, Interrupt& interrupt);

}  // namespace mddf::boosting
