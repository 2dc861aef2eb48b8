// Random splits of nodes of at most 64 samples.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/random.hpp"
#include "common/simd.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/nonzero_rows.hpp"
#include "forest/data/training.hpp"
#include "forest/small/small_vectors.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/split.hpp"

#ifdef MDDF_AVX2

namespace mddf::avx2 {

template <class Rules, class Writer>
class RandomSmallNodes : public SmallNodes<Rules, Writer> {
  using Base = SmallNodes<Rules, Writer>;
  using Base::codes_, Base::column_step_, Base::row_, Base::transposed_groups_, Base::transposes_;

 public:
  using typename Base::Node;

 protected:
  using Base::data_, Base::n_samples_, Base::options_, Base::pool_, Base::send_unseen;

  RandomSmallNodes(const TrainingData& data, const GrowOptions& options, ColumnPool& pool,
                   Writer& writer)
      : Base(data, options, pool, writer),
        prefetches_(!transposes_ && options.random_thresholds &&
                    data.matrix.n_columns <= kMaxFetched),
        transposed_words_(data.nonzero_rows
                              ? (data.matrix.n_columns / NonzeroRows::kColumns / 2 + 1) *
                                    kTransposedColumns * kSmall
                              : 0) {}

  template <class Sample>
  MDDF_TARGET_AVX2 void enter(const Sample* samples, int n, const BinMatrix& matrix) {
    nonzero_ = matrix.nonzero_rows;
    if (nonzero_)
      Base::enter(samples, n, 1, [&](uint32_t line) { return nonzero_->at_line(line); });
    else
      Base::enter(samples, n, matrix);
    for (int i = 0; n >= kMinPrefetched && i < n; ++i) {
      if (nonzero_)
        nonzero_->fetch_codes(row_[i]);
      else if (prefetches_)
        prefetch_row(row_[i], data_.matrix.n_columns);
    }
  }

  // Draws columns until one is not constant, and splits the node by it at random. Returns the
  // samples that go to the right.
  MDDF_TARGET_AVX2 uint64_t draw_split(const Node& node, Random& random, Split& split) {
    pool_.begin(node.n_constant);
    while (pool_.any_unknown() && pool_.only_constant()) {
      const int32_t column = pool_.drawn() < 1 ? pool_.draw(random) : pool_.draw_unknown(random);
      if (column < 0) continue;
      const Column of = read(column, node.mask);
      const uint64_t right = of.low == of.high ? 0
                             : data_.bins.categorical[column]
                                 ? draw_categories(column, of.codes, node.mask, random, split)
                                 : draw_threshold(column, of, node.mask, random, split);
      const uint8_t constant = split.column < 0;
      pool_.mark_constant(&constant, 1);
      if (!constant) return right;
    }
    return 0;
  }

 private:
  // Smallest subtree whose rows are prefetched.
  static constexpr int kMinPrefetched = 8;

  // The codes of a column, and the lowest and highest code in a mask. In wide tables, only the
  // codes of samples in the mask are set.
  struct Column {
    const uint8_t* codes;
    int low, high;
  };
  MDDF_TARGET_AVX2 MDDF_INLINE Column read(int32_t column, uint64_t mask) {
    if (transposes_) {
      this->transpose_group_of(column);
      Column of{codes_.data() + column * kSmall, 0, 0};
      range_of(Codes64(of.codes), mask, of.low, of.high);
      return of;
    }
    return read_cells(column, mask);
  }

  // Finds the range while reading. A vector would have to wait until its single bytes are stored.
  MDDF_TARGET_AVX2 Column read_cells(int32_t column, uint64_t mask) {
    Column of{codes_.data(), 255, 0};
    if (nonzero_) {
      std::fill_n(codes_.data(), kSmall, uint8_t{0});
      const uint64_t others = mask & nonzero_samples(column);
      if (others != mask) of.low = 0;
      mask = others;
    }
    for (; mask; mask &= mask - 1) {
      const int i = lowest_bit(mask);
      const uint8_t code =
          nonzero_ ? nonzero_->code(row_[i], column) : row_[i][column * column_step_];
      codes_[i] = code;
      of.low = std::min<int>(of.low, code);
      of.high = std::max<int>(of.high, code);
    }
    return of;
  }

  // Returns the samples with a code other than 0. Used for rows that store only nonzero codes.
  MDDF_TARGET_AVX2 uint64_t nonzero_samples(int32_t column) {
    // The bit words of two groups of columns are transposed at once.
    const int64_t word = column / NonzeroRows::kColumns, bit = column % NonzeroRows::kColumns;
    const int64_t pair = word / 2;
    uint8_t* transposed = transposed_words_.data() + pair * kTransposedColumns * kSmall;
    if (!(transposed_groups_ >> pair & 1)) {
      transposed_groups_ |= uint64_t{1} << pair;
      for (int i = 0; i < n_samples_; i += kTransposedRows)
        transpose_codes(row_.data() + i, pair * kTransposedColumns, transposed + i, kSmall);
    }
    return Codes64(transposed + (word % 2 * 8 + bit / 8) * kSmall).digit(bit % 8);
  }

  // Finds the lowest and the highest code in the mask, which must not be empty.
  MDDF_TARGET_AVX2 static void range_of(const Codes64& codes, uint64_t mask, int& low, int& high) {
    const __m256i ones = _mm256_set1_epi8(-1);
    const Codes64 in(mask);
    low = as_int(Codes64(_mm256_or_si256(codes.a, _mm256_xor_si256(in.a, ones)),
                         _mm256_or_si256(codes.b, _mm256_xor_si256(in.b, ones)))
                     .lowest());
    high = 255 - as_int(Codes64(_mm256_xor_si256(_mm256_and_si256(codes.a, in.a), ones),
                                _mm256_xor_si256(_mm256_and_si256(codes.b, in.b), ones))
                            .lowest());
  }

  // Draws a threshold of a column that is not constant. Returns the samples that go to the right.
  MDDF_TARGET_AVX2 uint64_t draw_threshold(int32_t column, Column of, uint64_t mask, Random& random,
                                           Split& split) const {
    const Codes64 codes(of.codes);
    uint64_t missing = 0;
    if (of.high == kMissing) {
      missing = codes.missing() & mask;
      range_of(codes, mask & ~missing, of.low, of.high);
    }
    mddf::draw_threshold(data_, column, {of.low, of.high, missing != 0}, random, split);
    const uint64_t right = mask & ~codes.up_to(_mm_cvtsi32_si128(split.threshold)).bits();
    return split.missing_left ? right & ~missing : right;
  }

  MDDF_TARGET_AVX2 uint64_t draw_categories(int32_t column, const uint8_t* codes, uint64_t mask,
                                            Random& random, Split& split) const {
    CodeSet present;
    for (uint64_t rest = mask; rest; rest &= rest - 1) present.insert(codes[lowest_bit(rest)]);
    if (!draw_category_set(column, present, random, split)) return 0;
    uint64_t right = 0;
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
      const int i = lowest_bit(rest);
      if (!split.left.contains(codes[i])) right |= uint64_t{1} << i;
    }
    send_unseen(codes, mask, right, split);
    return right;
  }

  const bool prefetches_;  // prefetches whole rows; random splits read most of their cache lines
  const NonzeroRows* nonzero_ = nullptr;   // rows that store only nonzero codes
  std::vector<uint8_t> transposed_words_;  // transposed bit words of nonzero rows
};

}  // namespace mddf::avx2

#endif
