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

// A row's signed weight beside the slot of the node it is in: one cache line serves both.
struct SlottedRow {
  double weight;
  std::uint32_t slot;
};

// The best split of a single node that holds all rows: the largest |2 L - sum| above the floor,
// with L the signed weight on the left.
Split scan_root(const RankedFeatures& features, const double* signed_weight, double sum,
                double floor, double tolerance, Interrupt& interrupt);

// The same for several nodes. rows[i].slot < sums.size(), or == sums.size() for rows in none.
std::vector<Split> scan_nodes(const RankedFeatures& features, const std::vector<SlottedRow>& rows,
                              const std::vector<double>& sums, double tolerance,
                              Interrupt& interrupt);

// One question asked of two nodes (slots 0 and 1) at once: the largest sum over both of
// |L| + |sum - L| above the floor.
Split scan_pair(const RankedFeatures& features, const std::vector<SlottedRow>& rows,
                const double sums[2], double floor, double tolerance, Interrupt& interrupt);

}  // namespace mddf::boosting
