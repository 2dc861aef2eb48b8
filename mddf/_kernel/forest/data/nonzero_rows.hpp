// Rows of a wide table that store only nonzero codes, for tables whose codes are mostly 0.
//
// Completely random trees read scattered cells. A row without zeros takes few cache lines, so it
// can be prefetched as a whole. Whether a column is constant in a node can often be told from the
// bit masks, without reading a code.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/interrupt.hpp"
#include "common/prefetch.hpp"
#include "common/reserve.hpp"
#include "common/simd.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/training.hpp"

#ifdef MDDF_AVX2

namespace mddf {

// A row has a word for every kColumns columns. The low bits of the word are a mask of the columns
// whose code is not 0. The high bits count the nonzero codes of the row before them. The nonzero
// codes follow the words.
class NonzeroRows {
 public:
  static constexpr int64_t kColumns = 48;

  NonzeroRows(const NonzeroRows&) = delete;
  NonzeroRows(const BinMatrix& matrix, Interrupt& interrupt)
      : n_columns_(matrix.n_columns), codes_at_((n_columns_ + kColumns - 1) / kColumns * 8) {
    const int64_t longest = lines_of(n_columns_);
    start_.reserve(matrix.n_rows + 1);
    reserve_large(lines_, matrix.n_rows * lines_of(n_columns_ / kFewCodes));
    for (int64_t r = 0; r < matrix.n_rows; ++r) {
      const size_t start = lines_.size();
      start_.push_back(static_cast<uint32_t>(start));
      lines_.resize(start + longest);
      lines_.resize(start + lines_of(pack(matrix.row(r), lines_[start].data())));
      interrupt.poll(n_columns_);
    }
    start_.push_back(static_cast<uint32_t>(lines_.size()));
    const int64_t average_lines =
        static_cast<int64_t>(lines_.size()) / std::max<int64_t>(matrix.n_rows, 1);
    n_fetched_ = average_lines + 1 - codes_at_ / kLine;
    lines_.resize(lines_.size() + 1 + n_fetched_);  // padding: reads and prefetches go beyond a row
  }

  // Whether these rows make growing trees faster.
  static bool suits(const BinMatrix& matrix, const GrowOptions& options) {
    return options.uses_simd() && options.random_thresholds && options.max_features == 1 &&
           matrix.by_column && matrix.n_columns > kMinColumns && matrix.n_columns <= kMaxFetched &&
           matrix.n_rows <= kMaxRows && has_few_codes(matrix);
  }

  // Whether a node with this number of samples, and the nodes below it, should read these rows.
  static bool pays(int64_t n_samples) { return n_samples <= kMaxSamples; }

  // Prefetches the rows of the samples, and replaces the rows in the samples by their first lines.
  template <class Sample>
  void prefetch_rows(Sample* samples, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t row = samples[i].row;
      for (uint32_t line = start_[row]; line < start_[row + 1]; ++line) prefetch(at_line(line));
      samples[i].row = start_[row];
    }
  }
  const uint8_t* at_line(uint32_t line) const { return lines_[line].data(); }
  // Prefetches the codes of a row, as many cache lines as an average row has.
  void fetch_codes(const uint8_t* row) const {
    const uint8_t* codes = row + codes_at_ / kLine * kLine;
    for (int64_t i = 0; i < n_fetched_; ++i) prefetch(codes + i * kLine);
  }

  // Reads the codes of a column for at most kMaxSamples samples, after prefetch_rows().
  template <class Sample>
  MDDF_TARGET_AVX2 void gather(int64_t column, const Sample* samples, int64_t n,
                               uint8_t* to) const {
    const Place place(column, codes_at_);
    const uint8_t* words = lines_.data()->data() + place.word_at;
    std::array<uint16_t, kMaxSamples> nonzero_samples;  // samples whose code is not 0
    int64_t n_nonzero = 0;
    for (int64_t i = 0; i < n; ++i) {
      nonzero_samples[n_nonzero] = static_cast<uint16_t>(i);
      n_nonzero += word_of(words + samples[i].row * sizeof(Line)) >> place.bit & 1;
    }
    std::fill_n(to, n, uint8_t{0});
    for (int64_t k = 0; k < n_nonzero; ++k) {
      const uint8_t* row = words + samples[nonzero_samples[k]].row * sizeof(Line);
      to[nonzero_samples[k]] = row[place.of(word_of(row))];
    }
  }

  // Returns the code of a cell that is not 0.
  MDDF_TARGET_AVX2 uint8_t code(const uint8_t* row, int64_t column) const {
    const Place place(column, codes_at_);
    return row[place.word_at + place.of(word_of(row + place.word_at))];
  }

 private:
  static constexpr int64_t kLine = 64;
  struct alignas(kLine) Line : std::array<uint8_t, kLine> {};  // a cache line; rows begin at lines

  static constexpr int64_t kMinColumns = 64;             // most columns that SmallNodes transposes
  static constexpr int64_t kMaxRows = int64_t{1} << 27;  // line numbers have 32 bits
  static constexpr int64_t kFewCodes = 3;        // at most one of kFewCodes codes may be nonzero
  static constexpr int64_t kExaminedRows = 256;  // rows that are examined
  static constexpr int64_t kMaxSamples = 1200;   // the fastest on images of 784 columns

  static bool has_few_codes(const BinMatrix& matrix) {
    const int64_t step = std::max<int64_t>(matrix.n_rows / kExaminedRows, 1);
    int64_t n_zeros = 0, n_cells = 0;
    for (int64_t r = 0; r < matrix.n_rows; r += step, n_cells += matrix.n_columns)
      n_zeros += std::count(matrix.row(r), matrix.row(r) + matrix.n_columns, 0);
    return (n_cells - n_zeros) * kFewCodes <= n_cells;
  }

  // Number of lines of a row with n nonzero codes.
  int64_t lines_of(int64_t n) const { return (codes_at_ + n + kLine - 1) / kLine; }

  // Byte position of the word of a column in a row, and distance from the word to its code.
  struct Place {
    int64_t word_at, bit, to_codes;

    Place(int64_t column, int64_t codes_at)
        : word_at(column / kColumns * 8), bit(column % kColumns), to_codes(codes_at - word_at) {}
    MDDF_TARGET_AVX2 uint64_t of(uint64_t word) const {
      const uint64_t before = word & ((uint64_t{1} << bit) - 1);
      return to_codes + (word >> kColumns) + count_bits(before);
    }
  };
  static uint64_t word_of(const uint8_t* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  // Writes a row and returns the number of its nonzero codes.
  MDDF_TARGET_AVX2 int64_t pack(const uint8_t* codes, uint8_t* to) const {
    uint8_t* stored_codes = to + codes_at_;
    uint64_t n = 0;
    for (int64_t c = 0; c < n_columns_; c += kColumns, to += 8) {
      uint64_t nonzero_mask = find_codes(codes + c, std::min(kColumns, n_columns_ - c));
      const uint64_t word = nonzero_mask | n << kColumns;
      std::memcpy(to, &word, sizeof word);
      for (; nonzero_mask; nonzero_mask &= nonzero_mask - 1)
        stored_codes[n++] = codes[c + lowest_bit(nonzero_mask)];
    }
    return static_cast<int64_t>(n);
  }

  // Returns a mask of the nonzero codes among the first n.
  MDDF_TARGET_AVX2 static uint64_t find_codes(const uint8_t* codes, int64_t n) {
    std::array<uint8_t, kColumns> last{};
    if (n < kColumns) codes = std::copy_n(codes, n, last.data()) - n;
    const __m256i zeros = _mm256_setzero_si256();
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 32));
    return ~bits_of(_mm256_cmpeq_epi8(low, zeros),
                    _mm256_cmpeq_epi8(_mm256_inserti128_si256(zeros, high, 0), zeros));
  }

  int64_t n_columns_, codes_at_;  // position of the codes in a row, in bytes
  int64_t n_fetched_ = 0;         // lines of codes that are prefetched
  std::vector<uint32_t> start_;   // first line of each row, and the end
  std::vector<Line> lines_;
};

}  // namespace mddf

#endif
