// Features replaced by the ranks of their distinct values, laid out for exact threshold scans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"

namespace mddf::boosting {

// Consecutive entries of RankedFeatures::rows that share one value of one feature.
struct Run {
  std::uint32_t code;
  std::uint32_t length;
};

// The runs of one feature: [first, middle) hold the values below the most common one in ascending
// order, [middle, last) those above it in descending order. The rows with the most common value
// are in no run: a scan from both ends reaches every threshold without them.
struct FeatureRuns {
  std::size_t first, middle, last;
  std::size_t first_row;
};

class RankedFeatures {
 public:
  // x: n_rows x n_features, row-major, finite. The caller has checked the values.
  RankedFeatures(const RankedFeatures&) = delete;
  RankedFeatures(const double* x, std::size_t n_rows, std::size_t n_features, Interrupt& interrupt);

  std::size_t n_rows() const { return n_rows_; }
  std::size_t n_features() const { return runs_of_.size(); }
  std::size_t n_distinct(std::size_t f) const { return value_start_[f + 1] - value_start_[f]; }

  const FeatureRuns& runs_of(std::size_t f) const { return runs_of_[f]; }
  const Run& run(std::size_t i) const { return runs_[i]; }
  const std::uint32_t* rows(std::size_t i) const { return rows_.data() + i; }

  std::uint32_t code(std::size_t f, std::size_t row) const { return codes_[f * n_rows_ + row]; }

  // Half-way between two distinct values of a feature; the lower value is <= the result and the
  // upper one is > it, also where no double lies between them.
  double midpoint(std::size_t f, std::uint32_t low, std::uint32_t high) const;

 private:
  void encode_column(const std::vector<double>& column, std::uint32_t* codes);
  void add_runs(const std::uint32_t* codes, std::size_t n_codes);

  std::size_t n_rows_;
  std::vector<std::uint32_t> codes_;  // feature-major
  std::vector<double> values_;        // the distinct values of every feature, ascending
  std::vector<std::size_t> value_start_{0};
  std::vector<std::uint32_t> rows_;
  std::vector<Run> runs_;
  std::vector<FeatureRuns> runs_of_;
};

}  // namespace mddf::boosting
