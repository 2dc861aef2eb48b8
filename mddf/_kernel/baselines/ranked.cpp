#include "baselines/ranked.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "common/midpoint.hpp"

namespace mddf::boosting {

namespace {

constexpr std::size_t kColumnsPerPass = 8;  // one cache line of a row-major matrix
constexpr double kMaxIntegerRange = 65535.0;

bool is_small_integer_column(const std::vector<double>& column, double& low, double& high) {
  const auto [lo, hi] = std::minmax_element(column.begin(), column.end());
  low = *lo;
  high = *hi;
  if (!(std::fabs(low) < 1e15 && std::fabs(high) < 1e15 && high - low <= kMaxIntegerRange)) {
    return false;
  }
  return std::all_of(column.begin(), column.end(),
                     [](double value) { return value == std::floor(value); });
}

}  // namespace

RankedFeatures::RankedFeatures(const double* x, std::size_t n_rows, std::size_t n_features,
                               Interrupt& interrupt)
    : n_rows_(n_rows), codes_(n_rows * n_features) {
  runs_of_.reserve(n_features);
  std::vector<std::vector<double>> columns(kColumnsPerPass, std::vector<double>(n_rows));
  for (std::size_t first = 0; first < n_features; first += kColumnsPerPass) {
    const std::size_t width = std::min(kColumnsPerPass, n_features - first);
    for (std::size_t i = 0; i < n_rows; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        columns[j][i] = x[i * n_features + first + j];
      }
    }
    for (std::size_t j = 0; j < width; ++j) {
      // Of the copy: another thread may write into x.
      if (!std::all_of(columns[j].begin(), columns[j].end(),
                       [](double value) { return std::isfinite(value); }))
        throw std::invalid_argument("x must be finite");
      interrupt.poll(32 * static_cast<std::int64_t>(n_rows));
      std::uint32_t* codes = codes_.data() + (first + j) * n_rows;
      encode_column(columns[j], codes);
      add_runs(codes, n_distinct(first + j));
    }
  }
}

void RankedFeatures::encode_column(const std::vector<double>& column, std::uint32_t* codes) {
  double low = 0.0, high = 0.0;
  if (is_small_integer_column(column, low, high)) {
    std::vector<std::uint32_t> rank(static_cast<std::size_t>(high - low) + 1, 0);
    for (double value : column) {
      rank[static_cast<std::size_t>(value - low)] = 1;
    }
    std::uint32_t next = 0;
    for (std::size_t v = 0; v < rank.size(); ++v) {
      if (rank[v] != 0) {
        values_.push_back(low + static_cast<double>(v));
        rank[v] = next++;
      }
    }
    for (std::size_t i = 0; i < n_rows_; ++i) {
      codes[i] = rank[static_cast<std::size_t>(column[i] - low)];
    }
  } else {
    std::vector<std::uint32_t> order(n_rows_);
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return column[a] < column[b]; });
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < n_rows_; ++i) {
      if (i == 0 || column[order[i]] != column[order[i - 1]]) {
        values_.push_back(column[order[i]]);
        ++next;
      }
      codes[order[i]] = next - 1;
    }
  }
  value_start_.push_back(values_.size());
}

void RankedFeatures::add_runs(const std::uint32_t* codes, std::size_t n_codes) {
  std::vector<std::uint32_t> counts(n_codes, 0);
  for (std::size_t i = 0; i < n_rows_; ++i) {
    ++counts[codes[i]];
  }
  const auto common =
      static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  FeatureRuns feature{runs_.size(), 0, 0, rows_.size()};
  std::vector<std::size_t> place(n_codes, 0);  // where the next row of a code goes
  std::size_t end = rows_.size();
  const auto add = [&](std::size_t code) {
    runs_.push_back({static_cast<std::uint32_t>(code), counts[code]});
    place[code] = end;
    end += counts[code];
  };
  for (std::size_t code = 0; code < common; ++code) {
    add(code);
  }
  feature.middle = runs_.size();
  for (std::size_t code = n_codes; code-- > common + 1;) {
    add(code);
  }
  feature.last = runs_.size();
  rows_.resize(end);
  for (std::size_t i = 0; i < n_rows_; ++i) {
    if (codes[i] != common) {
      rows_[place[codes[i]]++] = static_cast<std::uint32_t>(i);
    }
  }
  runs_of_.push_back(feature);
}

double RankedFeatures::midpoint(std::size_t f, std::uint32_t low, std::uint32_t high) const {
  const double* values = values_.data() + value_start_[f];
  return mddf::midpoint(values[low], values[high]);
}

}  // namespace mddf::boosting
