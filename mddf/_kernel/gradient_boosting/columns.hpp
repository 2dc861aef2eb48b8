// Codes that trees are grown on, column by column.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "common/reserve.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "gradient_boosting/bundles.hpp"
#include "gradient_boosting/exchange.hpp"

namespace mddf::gradient {

// Codes of a table, stored column by column. A missing value has the code n_bins of its column.
// Boosters on the same table share this object.
class TableCodes {
 public:
  // Number of bundles whose codes of a row are adjacent in the second layout, by groups.
  static constexpr int64_t kGroup = 8;

  // Copies the codes of a table, in which a missing value has the code kMissing.
  TableCodes(const BinMatrix& matrix, const Bins& bins, Interrupt& interrupt)
      : n_rows_(matrix.n_rows) {
    reserve_large(copy_, n_rows_ * matrix.n_columns);
    copy_.resize(n_rows_ * matrix.n_columns);
    codes_ = copy_.data();
    uint8_t* to = copy_.data();
    for (int64_t c = 0; c < matrix.n_columns; ++c) {
      interrupt.poll(2 * n_rows_);
      const BinMatrix::Column from = matrix.column(c, n_rows_);
      const auto missing = static_cast<uint8_t>(bins.count(c));
      for (int64_t i = 0; i < n_rows_; ++i) *to++ = from[i] == kMissing ? missing : from[i];
    }
    bundles_ = std::make_unique<const Bundles>(codes_, n_rows_, bins, interrupt);
    const int64_t n_groups = (bundles_->count() + kGroup - 1) / kGroup;
    reserve_large(groups_, n_rows_ * n_groups * kGroup);
    groups_.resize(n_rows_ * n_groups * kGroup);
    for (int64_t c = 0; c < matrix.n_columns; ++c) add_to_group(c, interrupt);
  }
  // Refers to codes of this layout, such as those of a mapped file. They must outlive the object.
  TableCodes(const uint8_t* codes, int64_t n_rows) : n_rows_(n_rows), codes_(codes) {}
  TableCodes(const TableCodes&) = delete;

  int64_t n_rows() const { return n_rows_; }
  const uint8_t* column(int64_t c) const { return codes_ + c * n_rows_; }
  // Rows of kGroup codes, those of the bundles from kGroup * g on. The rows of a leaf are scattered
  // over a large table; a cache line then brings the codes of eight bundles instead of one. Mapped
  // files have only the first layout.
  bool has_groups() const { return bundles_ != nullptr; }
  const Bundles& bundles() const { return *bundles_; }
  const uint8_t* group(int64_t g) const { return groups_.data() + g * kGroup * n_rows_; }

 private:
  void add_to_group(int64_t c, Interrupt& interrupt) {
    interrupt.poll(2 * n_rows_);
    const InBundle& of = (*bundles_)[c];
    uint8_t code_of[256];
    for (int code = 0; code < 256; ++code) code_of[code] = static_cast<uint8_t>(of.code_of(code));
    const uint8_t* from = column(c);
    uint8_t* to = groups_.data() + of.number / kGroup * kGroup * n_rows_ + of.number % kGroup;
    for (int64_t i = 0; i < n_rows_; ++i) to[i * kGroup] |= code_of[from[i]];
  }

  int64_t n_rows_;
  std::vector<uint8_t> copy_, groups_;
  std::unique_ptr<const Bundles> bundles_;
  const uint8_t* codes_;
};

// A column of codes 0 .. n_bins - 1; the code n_bins stands for a missing value.
struct Column {
  int32_t number;  // in the table
  int n_bins;
  bool categorical, has_missing;
  const uint8_t* codes;  // codes of all rows of the table
  int64_t offset;        // position of its first cell in a histogram

  int n_cells() const { return n_bins + 1; }
};

// Columns of a table that are not constant in the training rows of all shards.
class Columns {
 public:
  Columns(std::shared_ptr<const TableCodes> table, const Bins& bins, std::vector<int32_t> rows,
          const Shards& shards, Interrupt& interrupt)
      : table_(std::move(table)), rows_(std::move(rows)), shards_(shards) {
    for (int64_t i = 0; i < n_rows() && are_all_; ++i) are_all_ = rows_[i] == i;
    std::vector<double> ends;  // minus the least code and the largest code of each column
    for (int64_t c = 0; c < bins.n_columns; ++c) {
      interrupt.poll(2 * n_rows());
      const uint8_t* codes = table_->column(c);
      uint8_t least = 255, most = 0;
      for (const int32_t row : rows_) {
        least = std::min(least, codes[row]);
        most = std::max(most, codes[row]);
      }
      ends.insert(ends.end(), {-static_cast<double>(least), static_cast<double>(most)});
    }
    shards_.max(ends.data(), static_cast<int64_t>(ends.size()));
    for (int64_t c = 0; c < bins.n_columns; ++c) {
      const double least = -ends[2 * c], most = ends[2 * c + 1];
      if (least >= most) continue;
      columns_.push_back({static_cast<int32_t>(c), bins.count(c), bins.categorical[c] != 0,
                          most == bins.count(c), table_->column(c), n_cells_});
      n_cells_ += columns_.back().n_cells();
    }
  }
  Columns(const Columns&) = delete;

  int64_t n_rows() const { return static_cast<int64_t>(rows_.size()); }
  int64_t n_table_rows() const { return table_->n_rows(); }
  const TableCodes& table() const { return *table_; }
  // Training rows as rows of the table, and whether they are all rows in order.
  const std::vector<int32_t>& rows() const { return rows_; }
  bool are_all() const { return are_all_; }
  const Shards& shards() const { return shards_; }
  int count() const { return static_cast<int>(columns_.size()); }
  int64_t n_cells() const { return n_cells_; }
  const Column& operator[](int c) const { return columns_[c]; }

 private:
  std::shared_ptr<const TableCodes> table_;
  std::vector<int32_t> rows_;
  Shards shards_;
  bool are_all_ = true;
  int64_t n_cells_ = 0;
  std::vector<Column> columns_;
};

// The best split by a column.
struct ColumnSplit {
  int place = -1;  // position of the last bin that goes left; -1 if only missing values do
  bool missing_left = false;
  double score = 0;  // 0: there is none
};

// A split: a column and the codes that go right.
struct Split : ColumnSplit {
  int column = -1;  // position in `Columns`; -1 for no split
  std::array<uint8_t, 256> right{};

  bool is_valid() const { return column >= 0; }

  // `order` has the codes of a categorical column in the order of the search; it is null
  // otherwise.
  void set_codes(const Column& of, const uint8_t* order) {
    right.fill(1);
    for (int at = 0; at <= place; ++at) right[order ? order[at] : at] = 0;
    send_missing(of, missing_left);
  }
  void send_missing(const Column& of, bool left) {
    missing_left = left;
    right[of.n_bins] = !left;
  }
};

}  // namespace mddf::gradient
