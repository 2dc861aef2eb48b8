// Training data and options of trees as Python objects, which keep their arrays alive and are
// checked when they are constructed.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/tree_reader.hpp"
#include "common/interrupt.hpp"
#include "forest/data/nonzero_rows.hpp"
#include "forest/data/training.hpp"
#include "gradient_boosting/columns.hpp"

namespace mddf {

// A table of codes. Its columns can be replaced, but not while trees are grown on it.
class BinnedTable {
 public:
  BinnedTable(In<uint8_t, 2> codes, std::optional<In<uint8_t, 2>> by_column, In<double, 1> values,
              In<int64_t, 1> bin_start, In<uint8_t, 1> categorical, bool is_writable);
  BinnedTable(const BinnedTable&) = delete;

  // Replaces the columns from `first` on.
  void replace_columns(int64_t first, const In<uint8_t, 2>& codes, const In<double, 1>& values,
                       const In<int64_t, 1>& bin_start, const In<uint8_t, 1>& categorical);

  const In<uint8_t, 2>& codes() const { return codes_; }
  const std::optional<In<uint8_t, 2>>& by_column() const { return by_column_; }

  // Marks the table as in use during its lifetime. Constructed and destroyed while the GIL is held.
  class Use {
   public:
    explicit Use(BinnedTable& table) : table_(table) {
      check(table.n_users_ >= 0, "table: its columns are being replaced");
      ++table.n_users_;
    }
    Use(const Use&) = delete;
    ~Use() { --table_.n_users_; }

   private:
    BinnedTable& table_;
  };
  BinMatrix matrix() const;
  Bins bins() const;
  // A second layout of the matrix, or null if it is not faster for these options. Called without
  // the GIL.
  const NonzeroRows* nonzero_rows(const GrowOptions& options, Interrupt& interrupt);
  // The codes in the layout of gradient boosting, which all boosters on the table share. Called
  // without the GIL.
  std::shared_ptr<const gradient::TableCodes> boosting_codes(Interrupt& interrupt);

 private:
  In<uint8_t, 2> codes_;
  std::optional<In<uint8_t, 2>> by_column_;
  std::vector<double> values_;
  std::vector<int64_t> bin_start_;
  std::vector<uint8_t> categorical_;
  bool is_writable_;
  int n_users_ = 0;                      // -1: being replaced. Guarded by the GIL.
  [[maybe_unused]] std::mutex packing_;  // not every build packs
  // Created at the first use. A shared pointer, since some builds only declare the type.
  std::shared_ptr<const NonzeroRows> nonzero_rows_;
  std::mutex sharing_;
  std::weak_ptr<const gradient::TableCodes> boosting_codes_;
};

// A table of codes in the layout of gradient boosting: column by column, a missing value has the
// code n_bins of its column. The array is not copied, so that it may be a mapped file.
class ColumnTable {
 public:
  ColumnTable(In<uint8_t, 2> codes, In<int64_t, 1> bin_start, In<uint8_t, 1> categorical);
  ColumnTable(const ColumnTable&) = delete;

  int64_t n_rows() const { return static_cast<int64_t>(codes_.shape(1)); }
  Bins bins() const;
  // Refers to the codes of this object, which boosters therefore keep alive.
  std::shared_ptr<const gradient::TableCodes> boosting_codes() const {
    return std::make_shared<const gradient::TableCodes>(codes_.data(), n_rows());
  }

 private:
  In<uint8_t, 2> codes_;
  std::vector<int64_t> bin_start_;
  std::vector<uint8_t> categorical_;
};

class ClassLabels {
 public:
  using Reader = TreeReader;

  ClassLabels(In<uint16_t, 1> labels, int n_classes);
  // The arguments of the constructor.
  nb::tuple arguments() const { return nb::make_tuple(shared(labels_), n_classes_); }
  ClassTarget target() const { return {labels_.data(), n_classes_}; }
  size_t n_rows() const { return labels_.shape(0); }
  size_t width() const { return n_classes_; }  // width of the sums of held-out rows

 private:
  In<uint16_t, 1> labels_;
  int n_classes_;
};

class FixedValues {
 public:
  using Reader = ValueTreeReader;

  FixedValues(In<int64_t, 2> fixed, In<double, 1> scale);
  // The arguments of the constructor.
  nb::tuple arguments() const { return nb::make_tuple(shared(fixed_), shared(scale_)); }
  ValueTarget target() const {
    return {fixed_.data(), static_cast<int>(fixed_.shape(1)), scale_.data(),
            labels_.empty() ? nullptr : labels_.data()};
  }
  size_t n_rows() const { return fixed_.shape(0); }
  size_t width() const { return 2 * fixed_.shape(1); }

 private:
  In<int64_t, 2> fixed_;
  In<double, 1> scale_;
  std::vector<int32_t> labels_;
};

class RowSampling {
 public:
  RowSampling(In<int32_t, 1> rows, int64_t n_draws, std::optional<In<uint64_t, 1>> cumulative,
              std::optional<In<double, 1>> weights, bool balance,
              std::optional<In<int64_t, 1>> parts, bool whole_parts);
  const In<int32_t, 1>& rows() const { return rows_; }
  int64_t n_draws() const { return n_draws_; }
  // The arguments of the constructor.
  nb::tuple arguments() const {
    return nb::make_tuple(shared(rows_), n_draws_, shared(cumulative_), shared(weights_), balance_,
                          shared(parts_), whole_parts_);
  }

  // Sampling of a table with this number of rows.
  Sampling sampling(int64_t n_rows) const;

 private:
  In<int32_t, 1> rows_;
  int64_t n_draws_;
  std::optional<In<uint64_t, 1>> cumulative_;
  std::optional<In<double, 1>> weights_;
  bool balance_;
  std::optional<In<int64_t, 1>> parts_;
  bool whole_parts_;
  int32_t last_row_;
};

GrowOptions checked(const GrowOptions& options);

}  // namespace mddf
