// The rows that trees are grown on, column by column.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"

namespace mddf::gradient {

// A column of codes 0 .. n_bins - 1; n_bins stands for a missing value.
struct Column {
  int32_t number;  // in the table
  int n_bins;
  bool categorical, has_missing;
  const uint8_t* codes;
  int64_t offset;  // of its bins among those of all columns

  int n_cells() const { return n_bins + 1; }
};

// The codes of some rows of a table: of those columns that are not constant there.
class Columns {
 public:
  Columns(const BinMatrix& matrix, const Bins& bins, const std::vector<int32_t>& rows,
          Interrupt& interrupt)
      : n_rows_(static_cast<int64_t>(rows.size())) {
    std::vector<uint8_t> codes(n_rows_);
    for (int64_t c = 0; c < matrix.n_columns; ++c) {
      interrupt.poll(2 * n_rows_);
      gather(matrix, c, bins.count(c), rows, codes.data());
      const auto [least, most] = std::minmax_element(codes.begin(), codes.end());
      if (codes.empty() || *least == *most) continue;
      columns_.push_back({static_cast<int32_t>(c), bins.count(c), bins.categorical[c] != 0,
                          *most == bins.count(c), nullptr, n_cells_});
      n_cells_ += columns_.back().n_cells();
      codes_.insert(codes_.end(), codes.begin(), codes.end());
    }
    place();
  }
  // The same columns of other rows.
  Columns(const Columns& like, const BinMatrix& matrix, const std::vector<int32_t>& rows,
          Interrupt& interrupt)
      : n_rows_(static_cast<int64_t>(rows.size())),
        n_cells_(like.n_cells_),
        columns_(like.columns_),
        codes_(like.columns_.size() * rows.size()) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      interrupt.poll(n_rows_);
      gather(matrix, columns_[c].number, columns_[c].n_bins, rows, codes_.data() + c * n_rows_);
    }
    place();
  }
  Columns(const Columns&) = delete;

  int64_t n_rows() const { return n_rows_; }
  int count() const { return static_cast<int>(columns_.size()); }
  int64_t n_cells() const { return n_cells_; }
  const Column& operator[](int c) const { return columns_[c]; }

 private:
  static void gather(const BinMatrix& matrix, int64_t c, int n_bins,
                     const std::vector<int32_t>& rows, uint8_t* to) {
    const BinMatrix::Column from = matrix.column(c, static_cast<int64_t>(rows.size()));
    for (const int32_t row : rows) {
      const uint8_t code = from[row];
      *to++ = code == kMissing ? static_cast<uint8_t>(n_bins) : code;
    }
  }
  void place() {
    for (size_t c = 0; c < columns_.size(); ++c) columns_[c].codes = codes_.data() + c * n_rows_;
  }

  int64_t n_rows_, n_cells_ = 0;
  std::vector<Column> columns_;
  std::vector<uint8_t> codes_;
};

// Which codes of a column go right.
struct Split {
  int column = -1;  // among `Columns`
  int place = -1;   // the last bin, in the order of the search, that goes left; -1 for none
  bool missing_left = false;
  double score = 0;
  std::array<uint8_t, 256> right{};

  bool found() const { return column >= 0; }

  // `order`: of a column of categories, its codes in the order of the search; else null.
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
