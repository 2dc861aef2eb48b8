// forest/small: grows subtrees of at most 64 samples.
//
// Input: the samples of a node. Output: the nodes below it, given to a tree writer. A node is a
// 64-bit mask of samples, so its cost hardly depends on the number of its samples. Most nodes of a
// tree are in such subtrees. The same random numbers are drawn in the same order as in the general
// code (forest/grow), so the trees are the same.
//
// This header has the code that classification and regression share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/bits.hpp"
#include "common/codes64.hpp"
#include "common/random.hpp"
#include "common/wide.hpp"
#include "forest/data/bin_matrix.hpp"
#include "forest/data/bins.hpp"
#include "forest/data/nonzero_rows.hpp"
#include "forest/data/samples.hpp"
#include "forest/data/training.hpp"
#include "forest/split/column_pool.hpp"
#include "forest/split/split.hpp"

namespace mddf {

#ifdef MDDF_AVX2

// `Rules` derives from this class and handles the targets. It defines:
//   find_best_split(node, random, split): returns the samples that go to the right
//   on_node(node): called with every node that is not pure
//   on_split(node, split, right mask): called when the node is split; returns the right sum
//   place(node): writes a leaf if the node is pure; returns true if it is not
//   mixed_leaf(node): writes a leaf for a node that is not pure
template <class Rules, class Writer>
class SmallNodes {
 public:
  struct Node {
    uint32_t index, depth, n_constant;
    int32_t from_column;  // the column that the parent was split on
    uint64_t mask;
    int64_t sum = 0;  // a sum that the Rules keep for the node
  };

  SmallNodes(const SmallNodes&) = delete;

 protected:
  SmallNodes(const TrainingData& data, const GrowOptions& options, ColumnPool& pool, Writer& writer)
      : data_(data),
        options_(options),
        pool_(pool),
        writer_(writer),
        transposes_(data.matrix.n_columns <= kMaxTransposed),
        prefetches_(!transposes_ && options.random_thresholds &&
                    data.matrix.n_columns <= kMaxFetched),
        transposed_words_(data.nonzero_rows
                              ? (data.matrix.n_columns / NonzeroRows::kColumns / 2 + 1) *
                                    kTransposedColumns * kSmall
                              : 0),
        codes_(
            (transposes_ ? std::max<int64_t>(data.matrix.n_columns, kTransposedColumns) : kSmall) *
            kSmall) {
    copy_last_rows();
  }

 public:
  // Must be called if the matrix of the training data was replaced.
  void copy_last_rows() {
    const BinMatrix& matrix = data_.matrix;
    if (!transposes_ || matrix.n_columns >= kTransposedColumns) return;
    first_copied_ = std::max<int64_t>(matrix.n_rows - kTransposedColumns, 0);
    copied_.assign(matrix.row(first_copied_), matrix.row(matrix.n_rows));
    copied_.resize(copied_.size() + kTransposedColumns);
  }

 protected:
  template <class Sample>
  MDDF_TARGET_AVX2 void enter(const Sample* samples, int n, const BinMatrix& matrix) {
    n_samples_ = n;
    column_step_ = matrix.data ? 1 : matrix.n_rows;
    nonzero_ = matrix.nonzero_rows;
    transposed_groups_ = 0;
    uint32_t digits = 0;
    for (int i = 0; i < n; ++i) {
      const uint32_t row = samples[i].row;
      row_[i] = nonzero_      ? nonzero_->at_line(row)
                : matrix.data ? find_row(row)
                              : matrix.by_column + row;
      digits |= samples[i].weight;
    }
    for (int i = n; i % kTransposedRows; ++i) row_[i] = row_[0];
    for (int i = 0; n >= kMinPrefetched && i < n; ++i) {
      if (nonzero_)
        nonzero_->fetch_codes(row_[i]);
      else if (prefetches_)
        prefetch_row(row_[i], data_.matrix.n_columns);
    }
    planes_.fill(0);
    n_planes_ = bit_width(digits);
    if (digits == 1)
      planes_[0] = ~uint64_t{0} >> (kSmall - n);
    else
      find_planes(samples, n);
  }

  // Grows the subtree below a node that is not pure. enter() must have received its samples.
  MDDF_TARGET_AVX2 void grow_from(Node node, Random& random) {
    node.mask = ~uint64_t{0} >> (kSmall - n_samples_);
    waiting_.clear();
    while (visit(node, random)) {
    }
  }

  MDDF_TARGET_AVX2 double weight_of(uint64_t mask) const {
    int64_t weight = static_cast<int64_t>(_mm_popcnt_u64(mask & planes_[0]) +
                                          (_mm_popcnt_u64(mask & planes_[1]) << 1) +
                                          (_mm_popcnt_u64(mask & planes_[2]) << 2));
    for (int p = kUsualPlanes; p < n_planes_; ++p)
      weight += static_cast<int64_t>(_mm_popcnt_u64(mask & planes_[p])) << p;
    return static_cast<double>(weight);
  }

  // The codes of a column, and the lowest and highest code in a mask. In wide tables, only the
  // codes of samples in the mask are set.
  struct Column {
    const uint8_t* codes;
    int low, high;
  };
  MDDF_TARGET_AVX2 MDDF_INLINE Column read(int32_t column, uint64_t mask) {
    if (transposes_) {
      transpose_group_of(column);
      Column of{codes_.data() + column * kSmall, 0, 0};
      range_of(Codes64(of.codes), mask, of.low, of.high);
      return of;
    }
    return read_cells(column, mask);
  }

  // Reads the codes of up to kSmall columns. In wide tables, all columns are read before the first
  // is used: the cells may be far apart in memory, and loading a vector right after writing its
  // single bytes stalls the processor.
  MDDF_TARGET_AVX2 void gather(const int32_t* columns, int64_t n, uint64_t mask) {
    if (transposes_) {
      for (int64_t j = 0; j < n; ++j) transpose_group_of(columns[j]);
      return;
    }
    std::array<const uint8_t*, kSmall> row;
    std::array<uint8_t, kSmall> place;
    int n_members = 0;
    for (; mask; mask &= mask - 1) {
      place[n_members] = static_cast<uint8_t>(lowest_bit(mask));
      row[n_members++] = row_[lowest_bit(mask)];
    }
    for (int64_t j = 0; j < n; ++j) {
      const int64_t at = columns[j] * column_step_;
      uint8_t* to = codes_.data() + j * kSmall;
      for (int k = 0; k < n_members; ++k) to[place[k]] = row[k][at];
    }
  }
  // Codes of the j-th gathered column.
  const uint8_t* gathered(int64_t j, int32_t column) const {
    return codes_.data() + (transposes_ ? column : j) * kSmall;
  }

  // Whether the codes of all columns of a subtree are kept, or only of gathered columns of a node.
  bool keeps_all_columns() const { return transposes_; }

  // Sends categories that the node does not contain to the side with more weight.
  MDDF_TARGET_AVX2 void send_unseen(const uint8_t* codes, uint64_t mask, uint64_t right,
                                    Split& split) const {
    if (weight_of(mask & ~right) <= weight_of(right)) return;
    CodeSet on_right;
    for (uint64_t rest = right; rest; rest &= rest - 1) on_right.insert(codes[lowest_bit(rest)]);
    split.list_all_but(on_right, data_.bins.count(split.column));
  }

  const TrainingData& data_;
  const GrowOptions& options_;
  ColumnPool& pool_;
  Writer& writer_;
  // Weights below 8 need three binary digits. A bootstrap sample rarely draws a row eight times.
  static constexpr int kUsualPlanes = 3;
  int n_samples_ = 0, n_planes_ = 0;
  int64_t column_step_ = 1;            // bytes between the cells of a row
  std::array<uint64_t, 16> planes_{};  // by binary digit: samples whose weight has it

 private:
  // Widest table whose columns are transposed in groups.
  static constexpr int64_t kMaxTransposed = 64;
  // Smallest subtree whose rows are prefetched.
  static constexpr int kMinPrefetched = 8;

  MDDF_TARGET_AVX2 void transpose_group_of(int32_t column) {
    const int group = column / kTransposedColumns;
    if (!(transposed_groups_ >> group & 1)) transpose(group);
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

  // Finds the samples that have each binary digit in their weights.
  template <class Sample>
  MDDF_TARGET_AVX2 void find_planes(const Sample* samples, int n) {
    std::array<uint8_t, kSmall> low{}, high{};
    for (int i = 0; i < n; ++i) {
      low[i] = static_cast<uint8_t>(samples[i].weight);
      high[i] = static_cast<uint8_t>(samples[i].weight >> 8);
    }
    for (int p = 0; p < n_planes_; ++p)
      planes_[p] = Codes64(p < 8 ? low.data() : high.data()).digit(p % 8);
  }

  // Returns a row from which kTransposedColumns codes can be read, however narrow the table is.
  const uint8_t* find_row(int64_t row) const {
    return row < first_copied_ ? data_.matrix.row(row)
                               : copied_.data() + (row - first_copied_) * data_.matrix.n_columns;
  }
  // Transposes a group of columns. The last group is moved to the left so that it is complete.
  MDDF_TARGET_AVX2 void transpose(int group) {
    transposed_groups_ |= uint64_t{1} << group;
    const int64_t first = std::clamp<int64_t>(data_.matrix.n_columns - kTransposedColumns, 0,
                                              group * kTransposedColumns);
    for (int i = 0; i < n_samples_; i += kTransposedRows)
      transpose_codes(row_.data() + i, first, codes_.data() + first * kSmall + i, kSmall);
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

  Rules& rules() { return static_cast<Rules&>(*this); }

  // Splits a node or writes a leaf. Sets `node` to the next node; returns false if none is left.
  MDDF_TARGET_AVX2 bool visit(Node& node, Random& random) {
    rules().on_node(node);
    const int64_t n = static_cast<int64_t>(_mm_popcnt_u64(node.mask));
    Split split;
    uint64_t right_mask = 0;
    if (node.depth < options_.max_depth && n >= options_.min_samples_split)
      right_mask = options_.random_thresholds ? draw_split(node, random, split)
                                              : rules().find_best_split(node, random, split);
    if (split.column < 0) {
      rules().mixed_leaf(node);
      return next(node);
    }
    const int64_t right_sum = rules().on_split(node, split, right_mask);
    const uint64_t left_mask = node.mask & ~right_mask;
    if (!split.saw_missing) split.missing_left = weight_of(left_mask) > weight_of(right_mask);
    const uint32_t left = writer_.inner(node.index, split);
    const uint32_t n_constant = static_cast<uint32_t>(pool_.constant());
    const Node right{left + 1, node.depth + 1, n_constant, split.column, right_mask, right_sum};
    const bool visit_right = rules().place(right);
    node = {left, node.depth + 1, n_constant, split.column, left_mask, node.sum - right_sum};
    if (rules().place(node)) {
      if (visit_right) waiting_.push_back(right);
      return true;
    }
    if (!visit_right) return next(node);
    node = right;
    return true;
  }

  bool next(Node& node) {
    if (waiting_.empty()) return false;
    node = waiting_.back();
    waiting_.pop_back();
    return true;
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
    split.column = column;
    uint64_t missing = 0;
    if (of.high == kMissing) {
      const Codes64 codes(of.codes);
      missing = codes.missing() & mask;
      split.saw_missing = true;
      range_of(codes, mask & ~missing, of.low, of.high);
      if (of.low == of.high) {  // one value and missing values
        split.threshold = kMissing - 1;
        return missing;
      }
      split.missing_left = random.next() >> 63;
    }
    split.threshold = draw_cut(data_, column, of.low, of.high, random);
    const Codes64 codes(of.codes);
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

  const bool transposes_;  // transposes groups of columns; wide tables are read cell by cell
  const bool prefetches_;  // prefetches whole rows; random splits read most of their cache lines
  const NonzeroRows* nonzero_ = nullptr;   // rows that store only nonzero codes
  uint64_t transposed_groups_ = 0;         // mask of the transposed groups
  std::vector<uint8_t> transposed_words_;  // transposed bit words of nonzero rows
  std::vector<uint8_t> codes_;             // 64 codes per column
  // Copies of the last rows of narrow tables with padding, so that reading kTransposedColumns codes
  // is safe.
  std::vector<uint8_t> copied_;
  int64_t first_copied_ = INT64_MAX;
  std::array<const uint8_t*, kSmall> row_;
  std::vector<Node> waiting_;
};

#endif

}  // namespace mddf
