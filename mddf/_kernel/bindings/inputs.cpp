#include "bindings/inputs.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "bindings/call.hpp"
#include "common/reserve.hpp"
#include "forest/split/node_labels.hpp"

namespace mddf {
namespace {

// Whether any of n codes, `step` apart, is neither below `count` nor missing.
bool any_out_of_range(const uint8_t* codes, int64_t n, int64_t step, int count) {
  uint8_t wrong = 0;               // no early exit, so that compilers use wide vectors
  for (int64_t i = 0; i < n; ++i)  // a missing value's code plus one wraps to 0
    wrong |= static_cast<uint8_t>(codes[i * step] + 1) > count;
  return wrong != 0;
}

void check_codes(const BinMatrix& matrix, const std::vector<int64_t>& bin_start,
                 Interrupt& interrupt) {
  std::vector<uint8_t> counts(matrix.n_columns);
  for (int64_t c = 0; c < matrix.n_columns; ++c)
    counts[c] = static_cast<uint8_t>(bin_start[c + 1] - bin_start[c]);
  uint8_t wrong = 0;
  for (int64_t r = 0; r < matrix.n_rows; ++r) {
    interrupt.poll(matrix.n_columns);
    const uint8_t* row = matrix.row(r);
    for (int64_t c = 0; c < matrix.n_columns; ++c)
      wrong |= static_cast<uint8_t>(row[c] + 1) > counts[c];
  }
  require(!wrong, "codes: one is not below the column's number of bins");
  for (int64_t c = 0; matrix.by_column && c < matrix.n_columns; ++c)
    require(!any_out_of_range(matrix.by_column + c * matrix.n_rows, matrix.n_rows, 1, counts[c]),
            "by_column: a code is not below the column's number of bins");
}

void check_counts(int64_t n_columns, const In<int64_t, 1>& bin_start,
                  const In<uint8_t, 1>& categorical) {
  check_length("bin_start", bin_start.shape(0), n_columns + 1);
  check_length("categorical", categorical.shape(0), n_columns);
  const int64_t* start = bin_start.data();
  for (int64_t c = 0; c < n_columns; ++c)
    check_range("bin_start, bins of a column", start[c + 1] - start[c], 1, kMaxBins);
}

void check_bins(int64_t n_columns, const In<double, 1>& values, const In<int64_t, 1>& bin_start,
                const In<uint8_t, 1>& categorical) {
  check_counts(n_columns, bin_start, categorical);
  check(bin_start.data()[0] == 0 &&
            bin_start.data()[n_columns] == static_cast<int64_t>(values.shape(0)),
        "bin_start: expected to begin with 0 and end with the number of values");
}

template <class T>
std::vector<T> copied(const In<T, 1>& values) {
  std::vector<T> copy;
  reserve_large(copy, static_cast<int64_t>(values.shape(0)));
  copy.assign(values.data(), values.data() + values.shape(0));
  return copy;
}

// Replaces the values [first, last) by `part`.
template <class T>
void splice(std::vector<T>& values, int64_t first, int64_t last, const std::vector<T>& part) {
  std::vector<T> joined(values.begin(), values.begin() + first);
  joined.insert(joined.end(), part.begin(), part.end());
  joined.insert(joined.end(), values.begin() + last, values.end());
  values = std::move(joined);
}

}  // namespace

BinnedTable::BinnedTable(In<uint8_t, 2> codes, std::optional<In<uint8_t, 2>> by_column,
                         In<double, 1> values, In<int64_t, 1> bin_start, In<uint8_t, 1> categorical,
                         bool is_writable)
    : codes_(std::move(codes)), by_column_(std::move(by_column)), is_writable_(is_writable) {
  check_range("rows of codes", static_cast<int64_t>(codes_.shape(0)), 1, INT32_MAX - 1);
  check_range("columns of codes", static_cast<int64_t>(codes_.shape(1)), 0, kMaxColumns - 1);
  check_bins(static_cast<int64_t>(codes_.shape(1)), values, bin_start, categorical);
  if (by_column_)
    check(by_column_->shape(0) == codes_.shape(1) && by_column_->shape(1) == codes_.shape(0),
          "by_column: expected the shape of codes, transposed");
  values_ = copied(values);
  bin_start_ = copied(bin_start);
  categorical_ = copied(categorical);
  without_gil(nullptr, [&](Interrupt& interrupt) { check_codes(matrix(), bin_start_, interrupt); });
}

BinMatrix BinnedTable::matrix() const {
  return {codes_.data(), static_cast<int64_t>(codes_.shape(0)),
          static_cast<int64_t>(codes_.shape(1)), by_column_ ? by_column_->data() : nullptr};
}

Bins BinnedTable::bins() const {
  return {nullptr, values_.data(), bin_start_.data(), categorical_.data(),
          static_cast<int64_t>(categorical_.size())};
}

const NonzeroRows* BinnedTable::nonzero_rows([[maybe_unused]] const GrowOptions& options,
                                             [[maybe_unused]] Interrupt& interrupt) {
#ifdef MDDF_AVX2
  const BinMatrix all = matrix();
  // Large nodes look up their unseen categories in the matrix, which such rows replace.
  const bool is_ordered = std::none_of(categorical_.begin(), categorical_.end(),
                                       [](uint8_t categorical) { return categorical != 0; });
  if (!is_ordered || !NonzeroRows::suits(all, options)) return nullptr;
  std::lock_guard<std::mutex> lock(packing_);
  if (!nonzero_rows_) nonzero_rows_ = std::make_shared<const NonzeroRows>(all, interrupt);
#endif
  return nonzero_rows_.get();
}

std::shared_ptr<const gradient::TableCodes> BinnedTable::boosting_codes(Interrupt& interrupt) {
  std::lock_guard<std::mutex> lock(sharing_);
  std::shared_ptr<const gradient::TableCodes> codes = boosting_codes_.lock();
  if (!codes) {
    codes = std::make_shared<const gradient::TableCodes>(matrix(), bins(), interrupt);
    boosting_codes_ = codes;
  }
  return codes;
}

void BinnedTable::replace_columns(int64_t first, const In<uint8_t, 2>& codes,
                                  const In<double, 1>& values, const In<int64_t, 1>& bin_start,
                                  const In<uint8_t, 1>& categorical) {
  const BinMatrix all = matrix();
  const BinMatrix replacement{codes.data(), static_cast<int64_t>(codes.shape(0)),
                              static_cast<int64_t>(codes.shape(1))};
  check(is_writable_, "table: made of arrays that cannot be written");
  check(n_users_ == 0, "table: trees are being grown on it");
  check(replacement.n_rows == all.n_rows, "codes: expected one row per row of the table");
  check(0 <= first && first <= all.n_columns - replacement.n_columns,
        "first: expected a place for these columns in the table");
  check_bins(replacement.n_columns, values, bin_start, categorical);
  const std::vector<int64_t> start = copied(bin_start);
  n_users_ = -1;
  struct Done {
    int& n_users;
    ~Done() { n_users = 0; }
  } done{n_users_};
  without_gil(nullptr, [&](Interrupt& interrupt) { check_codes(replacement, start, interrupt); });
  nb::gil_scoped_release release;
  const int64_t last = first + replacement.n_columns;
  const int64_t begin = bin_start_[first], end = bin_start_[last];
  splice(values_, begin, end, copied(values));
  std::copy_n(categorical.data(), replacement.n_columns, categorical_.begin() + first);
  for (size_t c = last; c < bin_start_.size(); ++c) bin_start_[c] += start.back() - (end - begin);
  for (int64_t c = 0; c < replacement.n_columns; ++c) bin_start_[first + c] = begin + start[c];
  nonzero_rows_.reset();
  boosting_codes_.reset();
  // The arrays were writable when they were passed.
  uint8_t* to = const_cast<uint8_t*>(all.data);
  uint8_t* to_columns = const_cast<uint8_t*>(all.by_column);
  for (int64_t r = 0; r < all.n_rows; ++r)
    std::copy_n(replacement.row(r), replacement.n_columns, to + r * all.n_columns + first);
  for (int64_t c = 0; to_columns && c < replacement.n_columns; ++c)
    for (int64_t r = 0; r < all.n_rows; ++r)
      to_columns[(first + c) * all.n_rows + r] = replacement.row(r)[c];
}

ColumnTable::ColumnTable(In<uint8_t, 2> codes, In<int64_t, 1> bin_start, In<uint8_t, 1> categorical)
    : codes_(std::move(codes)) {
  const auto n_columns = static_cast<int64_t>(codes_.shape(0));
  check_range("rows of codes", n_rows(), 1, INT32_MAX - 1);
  check_range("columns of codes", n_columns, 0, kMaxColumns - 1);
  check_counts(n_columns, bin_start, categorical);
  bin_start_ = copied(bin_start);
  categorical_ = copied(categorical);
  without_gil(nullptr, [&](Interrupt& interrupt) {
    for (int64_t c = 0; c < n_columns; ++c) {
      interrupt.poll(n_rows());
      const uint8_t* column = codes_.data() + c * n_rows();
      uint8_t most = 0;
      for (int64_t i = 0; i < n_rows(); ++i) most = std::max(most, column[i]);
      require(most <= bin_start_[c + 1] - bin_start_[c],
              "codes: one is above the column's number of bins");
    }
  });
}

Bins ColumnTable::bins() const {
  return {nullptr, nullptr, bin_start_.data(), categorical_.data(),
          static_cast<int64_t>(categorical_.size())};
}

ClassLabels::ClassLabels(In<uint16_t, 1> labels, int n_classes)
    : labels_(std::move(labels)), n_classes_(n_classes) {
  check_range("n_classes", n_classes, 1, 65535);
  check_each("labels", labels_, "labels below n_classes",
             [n_classes](uint16_t label) { return label < n_classes; });
}

constexpr int64_t kMaxOutputs = 65535;

FixedValues::FixedValues(In<int64_t, 2> fixed, In<double, 1> scale)
    : fixed_(std::move(fixed)), scale_(std::move(scale)) {
  check_range("columns of fixed", static_cast<int64_t>(fixed_.shape(1)), 1, kMaxOutputs);
  check_length("scale", scale_.shape(0), fixed_.shape(1));
  constexpr int64_t most = int64_t{1} << ValueTarget::kBits;
  for (size_t i = 0; i < fixed_.size(); ++i)
    if (fixed_.data()[i] < -most || fixed_.data()[i] > most)
      refuse("fixed: expected numbers from -2^61 to 2^61, got " + std::to_string(fixed_.data()[i]));
  check_each("scale", scale_, "shares from 0 to 1",
             [](double scale) { return 0 <= scale && scale <= 1; });
  labels_ = NodeLabels::rows_of(fixed_.data(), static_cast<int64_t>(fixed_.shape(0)),
                                static_cast<int>(fixed_.shape(1)));
}

RowSampling::RowSampling(In<int32_t, 1> rows, int64_t n_draws,
                         std::optional<In<uint64_t, 1>> cumulative,
                         std::optional<In<double, 1>> weights, bool balance,
                         std::optional<In<int64_t, 1>> parts, bool whole_parts)
    : rows_(std::move(rows)),
      n_draws_(n_draws),
      cumulative_(std::move(cumulative)),
      weights_(std::move(weights)),
      balance_(balance),
      parts_(std::move(parts)),
      whole_parts_(whole_parts) {
  check(rows_.shape(0) > 0, "rows: expected at least one row to train on");
  check_each("rows", rows_, "rows of the table", [](int32_t row) { return row >= 0; });
  last_row_ = *std::max_element(rows_.data(), rows_.data() + rows_.shape(0));
  check_range("n_draws", n_draws, 0, INT32_MAX - 1);
  check(!balance || weights_, "balance: only with weights");
  if (weights_)
    check_each("weights", *weights_, "finite numbers that are not negative",
               [](double weight) { return weight >= 0 && std::isfinite(weight); });
  // Keeps the sums of weights finite, and products of three such sums.
  if (weights_)
    check(std::accumulate(weights_->data(), weights_->data() + weights_->shape(0), 0.0) <= 0x1p320,
          "weights: expected a sum of at most 2^320");
  const auto n_rows = static_cast<int64_t>(rows_.shape(0));
  std::vector<int64_t> starts{0, n_rows};
  if (parts_) {
    starts.assign(parts_->data(), parts_->data() + parts_->shape(0));
    check(starts.size() > 1 && starts.front() == 0 && starts.back() == n_rows,
          "parts: expected to begin with 0 and end with the number of rows");
    for (size_t part = 1; part < starts.size(); ++part)
      check(starts[part - 1] < starts[part], "parts: expected no empty part");
  }
  check(!whole_parts_ || (parts_ && !cumulative_),
        "whole_parts: only with parts, and without cumulative");
  if (!cumulative_) return;
  check_length("cumulative", cumulative_->shape(0), rows_.shape(0));
  const uint64_t* sums = cumulative_->data();
  for (size_t part = 1; part < starts.size(); ++part) {
    check(std::is_sorted(sums + starts[part - 1], sums + starts[part]),
          "cumulative: expected sums that do not fall");
    check(sums[starts[part] - 1] > 0, "cumulative: expected a positive total");
  }
}

Sampling RowSampling::sampling(int64_t n_rows) const {
  check(last_row_ < n_rows, "rows: expected rows of the table, which has " +
                                std::to_string(n_rows) + ", got " + std::to_string(last_row_));
  if (weights_) check_length("weights", weights_->shape(0), n_rows);
  return {as_span(rows_),
          n_draws_,
          data_or_null(cumulative_),
          data_or_null(weights_),
          balance_,
          parts_ ? as_span(*parts_) : Span<int64_t>{},
          whole_parts_};
}

GrowOptions checked(const GrowOptions& options) {
  check_at_least("max_features", options.max_features, 1);
  check_at_least("max_depth", options.max_depth, 0);
  check_at_least("min_samples_leaf", options.min_samples_leaf, 1);
  check(options.min_weight_leaf >= 0,
        "min_weight_leaf: expected at least 0, got " + std::to_string(options.min_weight_leaf));
  check_at_least("max_leaf_nodes", options.max_leaf_nodes, 0);
  check(options.min_decrease >= 0,
        "min_decrease: expected at least 0, got " + std::to_string(options.min_decrease));
  check(options.prune >= 0, "prune: expected at least 0, got " + std::to_string(options.prune));
  for (const int8_t direction : options.monotonic) check_range("monotonic", direction, -1, 1);
  return options;
}

}  // namespace mddf
