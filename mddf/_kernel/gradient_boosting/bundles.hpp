// Bundles of columns, of which a row has at most one unusual code. They are counted as one column,
// as in LightGBM (G. Ke and others, "LightGBM", 2017), but only if they are adjacent and no row is
// an exception, as with the columns of a one-hot encoding. Sums are then the same as without.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "forest/data/bins.hpp"

namespace mddf::gradient {

// The bundle of a column. Its code 0 stands for the usual codes of all of its columns. A column
// without a usual code is the only one of its bundle and has the same codes there.
struct InBundle {
  static constexpr int kNone = -1;
  int32_t number;       // of the bundle
  int usual = kNone;    // code that most rows have
  int first_other = 1;  // code of the bundle that stands for the first other code

  int code_of(int code) const {
    if (usual == kNone) return code;
    return code == usual ? 0 : first_other + code - (code > usual);
  }
};

// Divides the columns of a table into bundles, in their order.
class Bundles {
 public:
  // `codes` has one column after the other, with n_bins as the code of a missing value.
  Bundles(const uint8_t* codes, int64_t n_rows, const Bins& bins, Interrupt& interrupt)
      : is_unusual_((n_rows + 63) / 64) {
    for (int64_t c = 0; c < bins.n_columns; ++c) {
      const uint8_t* column = codes + c * n_rows;
      const int n_bins = bins.count(c), usual = usual_code(column, n_rows);
      if (usual != InBundle::kNone) interrupt.poll(2 * n_rows);
      if (usual != InBundle::kNone && n_joined_ > 0 && n_codes_.back() + n_bins <= kMostCodes &&
          add(column, n_rows, usual)) {
        of_column_.push_back({count() - 1, usual, n_codes_.back()});
        n_codes_.back() += n_bins;
        ++n_joined_;
        continue;
      }
      close();
      of_column_.push_back({count(), usual});
      n_codes_.push_back(1 + n_bins);
      if (usual == InBundle::kNone) continue;
      n_joined_ = 1;
      std::fill(is_unusual_.begin(), is_unusual_.end(), uint64_t{0});
      add(column, n_rows, usual);
    }
    close();
  }

  int32_t count() const { return static_cast<int32_t>(n_codes_.size()); }
  const InBundle& operator[](int64_t column) const { return of_column_[column]; }
  int n_codes(int64_t bundle) const { return n_codes_[bundle]; }

 private:
  static constexpr int kMostCodes = 256;

  // The code of more than half of the first rows. Two columns without one are rarely a bundle.
  static int usual_code(const uint8_t* column, int64_t n_rows) {
    const int64_t n = std::min<int64_t>(n_rows, 1000);
    int64_t n_of[256] = {};
    for (int64_t i = 0; i < n; ++i) ++n_of[column[i]];
    const int64_t* most = std::max_element(n_of, n_of + 256);
    return 2 * *most > n ? static_cast<int>(most - n_of) : InBundle::kNone;
  }

  // Ends a bundle. A column that no other has joined keeps its codes.
  void close() {
    if (n_joined_ == 1) of_column_.back().usual = InBundle::kNone;
    n_joined_ = 0;
  }

  // Adds the rows with an unusual code of a column to those of the bundle. If one of them is there
  // already, it returns false, and the bundle must end.
  bool add(const uint8_t* column, int64_t n_rows, int usual) {
    for (int64_t first = 0; first < n_rows; first += 64) {
      const int64_t n = std::min<int64_t>(64, n_rows - first);
      uint64_t unusual = 0;
      for (int64_t i = 0; i < n; ++i) unusual |= uint64_t{column[first + i] != usual} << i;
      if (is_unusual_[first / 64] & unusual) return false;
      is_unusual_[first / 64] |= unusual;
    }
    return true;
  }

  std::vector<InBundle> of_column_;
  std::vector<int> n_codes_;  // of each bundle
  // For each row, a bit that says whether a column of the open bundle has an unusual code.
  std::vector<uint64_t> is_unusual_;
  int n_joined_ = 0;  // columns of the open bundle; 0: the last bundle has ended
};

}  // namespace mddf::gradient
