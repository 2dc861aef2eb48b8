// forest/small: grows subtrees of at most 64 samples.
//
// Input: the samples of a node. Output: the nodes below it, given to a tree writer. A node is a
// 64-bit mask of samples, so its cost hardly depends on the number of its samples. Most nodes of a
// tree are in such subtrees. The same random numbers are drawn in the same order as in the general
// code (forest/grow), so the trees are the same.
//
// This header has the code that classification and regression share. small_trees.hpp includes it
// for each set of vectors.

namespace mddf::MDDF_SMALL {

// `Rules` derives from this class and handles the targets. It defines:
//   find_best_split(node, random, split): returns the samples that go to the right
//   on_node(node): called with every node that is not pure
//   on_split(node, split, right mask): called when the node is split; returns the right sum
//   place(node): writes a leaf if the node is pure; returns true if it is not
//   mixed_leaf(node): writes a leaf for a node that is not pure
template <class Rules, class Writer>
class SmallNodes {
 public:
  using Node = SmallNode;

  SmallNodes(const SmallNodes&) = delete;

 protected:
  SmallNodes(const TrainingData& data, const GrowOptions& options, ColumnPool& pool, Writer& writer)
      : data_(data),
        options_(options),
        pool_(pool),
        writer_(writer),
        transposes_(data.matrix.n_columns <= kMaxTransposed),
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
  MDDF_SMALL_TARGET void enter(const Sample* samples, int n, const BinMatrix& matrix) {
    enter(samples, n, matrix.data ? 1 : matrix.n_rows,
          [&](uint32_t row) { return matrix.data ? find_row(row) : matrix.by_column + row; });
  }
  // Does the same for cells `column_step` bytes apart, which begin at cells_of(row).
  template <class Sample, class CellsOf>
  MDDF_SMALL_TARGET void enter(const Sample* samples, int n, int64_t column_step,
                               const CellsOf& cells_of) {
    n_samples_ = n;
    column_step_ = column_step;
    transposed_groups_ = 0;
    uint32_t digits = 0;
    for (int i = 0; i < n; ++i) {
      row_[i] = cells_of(samples[i].row);
      digits |= samples[i].weight;
    }
    for (int i = n; i % kTransposedRows; ++i) row_[i] = row_[0];
    planes_.fill(0);
    n_planes_ = bit_width(digits);
    if (digits == 1)
      planes_[0] = ~uint64_t{0} >> (kSmall - n);
    else
      find_planes(samples, n);
  }

  // Grows the subtree below a node that is not pure. enter() must have received its samples.
  MDDF_SMALL_TARGET void grow_from(Node node, Random& random) {
    node.mask = ~uint64_t{0} >> (kSmall - n_samples_);
    waiting_.clear();
    while (visit(node, random)) {
    }
  }

  MDDF_SMALL_TARGET double weight_of(uint64_t mask) const {
    int64_t weight =
        static_cast<int64_t>(count_bits(mask & planes_[0]) + (count_bits(mask & planes_[1]) << 1) +
                             (count_bits(mask & planes_[2]) << 2));
    for (int p = kUsualPlanes; p < n_planes_; ++p)
      weight += static_cast<int64_t>(count_bits(mask & planes_[p])) << p;
    return static_cast<double>(weight);
  }

  // Reads the codes of up to kSmall columns. In wide tables, all columns are read before the first
  // is used: the cells may be far apart in memory, and loading a vector right after writing its
  // single bytes stalls the processor.
  MDDF_SMALL_TARGET void gather(const int32_t* columns, int64_t n, uint64_t mask) {
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
  MDDF_SMALL_TARGET void send_unseen(const uint8_t* codes, uint64_t mask, uint64_t right,
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

  const bool transposes_;  // transposes groups of columns; wide tables are read cell by cell
  uint64_t transposed_groups_ = 0;  // mask of the transposed groups
  std::vector<uint8_t> codes_;      // 64 codes per column
  std::array<const uint8_t*, kSmall> row_;

  MDDF_SMALL_TARGET void transpose_group_of(int32_t column) {
    const int group = column / kTransposedColumns;
    if (!(transposed_groups_ >> group & 1)) transpose(group);
  }

 private:
  // Widest table whose columns are transposed in groups.
  static constexpr int64_t kMaxTransposed = 64;

  // Finds the samples that have each binary digit in their weights.
  template <class Sample>
  MDDF_SMALL_TARGET void find_planes(const Sample* samples, int n) {
    std::array<uint8_t, kSmall> low{}, high{};
    for (int i = 0; i < n; ++i) {
      low[i] = static_cast<uint8_t>(samples[i].weight);
      high[i] = static_cast<uint8_t>(samples[i].weight >> 8);
    }
    for (int p = 0; p < n_planes_; ++p)
      planes_[p] = digit_of(p < 8 ? low.data() : high.data(), p % 8);
  }

  // Returns a row from which kTransposedColumns codes can be read, however narrow the table is.
  const uint8_t* find_row(int64_t row) const {
    return row < first_copied_ ? data_.matrix.row(row)
                               : copied_.data() + (row - first_copied_) * data_.matrix.n_columns;
  }
  // Transposes a group of columns. The last group is moved to the left so that it is complete.
  MDDF_SMALL_TARGET void transpose(int group) {
    transposed_groups_ |= uint64_t{1} << group;
    const int64_t first = std::clamp<int64_t>(data_.matrix.n_columns - kTransposedColumns, 0,
                                              group * kTransposedColumns);
    for (int i = 0; i < n_samples_; i += kTransposedRows)
      transpose_codes(row_.data() + i, first, codes_.data() + first * kSmall + i, kSmall);
  }

  Rules& rules() { return static_cast<Rules&>(*this); }

  // Splits a node or writes a leaf. Sets `node` to the next node; returns false if none is left.
  MDDF_SMALL_TARGET bool visit(Node& node, Random& random) {
    rules().on_node(node);
    const int64_t n = static_cast<int64_t>(count_bits(node.mask));
    Split split;
    uint64_t right_mask = 0;
    if (node.depth < options_.max_depth && n >= options_.min_samples_split)
      right_mask = find_split(node, random, split);
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

  MDDF_SMALL_TARGET uint64_t find_split(const Node& node, Random& random, Split& split) {
#ifdef MDDF_SMALL_RANDOM
    if (options_.random_thresholds) return rules().draw_split(node, random, split);
#endif
    return rules().find_best_split(node, random, split);
  }

  bool next(Node& node) {
    if (waiting_.empty()) return false;
    node = waiting_.back();
    waiting_.pop_back();
    return true;
  }

  // Copies of the last rows of narrow tables with padding, so that reading kTransposedColumns codes
  // is safe.
  std::vector<uint8_t> copied_;
  int64_t first_copied_ = INT64_MAX;
  std::vector<Node> waiting_;
};

}  // namespace mddf::MDDF_SMALL
