// Grows regression subtrees of at most 64 samples, with one target and the squared error. The trees
// are completely random, or use the best splits. small_trees.hpp includes this header for each set
// of vectors.

namespace mddf::MDDF_SMALL {

class SmallValues : public SmallValueTrees, public SmallValueNodes<SmallValues> {
  using Base = SmallValueNodes<SmallValues>;
  friend SmallNodes<SmallValues, ValueWriter>;

 public:
  SmallValues(const ValueTraining& data, const GrowOptions& options, ColumnPool& pool,
              ValueWriter& writer)
      : Base(data, options, pool, writer),
        node_(data.target),
        leaf_(data.target),
        sorted_(options.random_thresholds   ? 0
                : Base::keeps_all_columns() ? data.matrix.n_columns
                                            : 1),
        sorted_in_(sorted_.size(), 0) {}

  void copy_last_rows() override { Base::copy_last_rows(); }
  MDDF_SMALL_TARGET void grow(Node root, const RowSample* samples, int n, Random& random) override {
    samples_ = samples;
    node_.load_targets(samples, n);
    node_.fill();
    for (int i = 0; i < n; ++i) part_[i] = node_.cell(i)[1];
    ++n_subtrees_;
    Base::enter(samples, n, data_.matrix);
    root.sum = node_.total()[1];
    Base::grow_from(root, random);
  }

 private:
  void on_node(const Node&) {}

  MDDF_SMALL_TARGET int64_t on_split(const Node& node, const Split& split, uint64_t right) {
    if (!writer_.wants_importances()) return 0;
    if (!options_.random_thresholds) {
      writer_.gain(split.column, search_.gain(split.score));
      return 0;
    }
    const uint64_t left = node.mask & ~right;
    // The sum is computed for the smaller side and subtracted for the larger side. The choice has
    // no branch, because the processor could not predict it.
    const uint64_t is_left = count_bits(left) < count_bits(right);
    const int64_t counted = sum_parts(right ^ ((left ^ right) & -is_left));
    const int64_t on_right = is_left * node.sum + (1 - 2 * static_cast<int64_t>(is_left)) * counted;
    writer_.gain(split.column,
                 node_.gain(weight_of(left), node.sum - on_right, weight_of(right), on_right));
    return on_right;
  }

  // The mask usually has few samples. The first three are added without branches; place kSmall
  // holds 0.
  MDDF_SMALL_TARGET int64_t sum_parts(uint64_t mask) const {
    int64_t sum = 0;
    for (int few = 0; few < 3; ++few, mask &= mask - 1)
      sum += part_[mask ? lowest_bit(mask) : kSmall];
    for (; mask; mask &= mask - 1) sum += part_[lowest_bit(mask)];
    return sum;
  }

  MDDF_SMALL_TARGET bool place(const Node& node) {
    const int first = lowest_bit(node.mask);
    for (uint64_t rest = node.mask & (node.mask - 1); rest; rest &= rest - 1)
      if (node_.value(lowest_bit(rest)) != node_.value(first)) return true;
    writer_.target_leaf(node.index, node_, node_.value(first), weight_of(node.mask));
    return false;
  }

  MDDF_SMALL_TARGET void mixed_leaf(const Node& node) {
    std::array<RowSample, kSmall> members;
    int n = 0;
    for (uint64_t rest = node.mask; rest; rest &= rest - 1)
      members[n++] = samples_[lowest_bit(rest)];
    leaf_.load_targets(members.data(), n);
    writer_.mean_leaf(node.index, leaf_, weight_of(node.mask));
  }

  // Does what NodeValues::fill() does for the samples of a node.
  MDDF_SMALL_TARGET void begin_search(uint64_t mask) {
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
      least = std::min(least, node_.value(lowest_bit(rest)));
      most = std::max(most, node_.value(lowest_bit(rest)));
    }
    const double weight = weight_of(mask);
    const bool all_ones = weight == static_cast<double>(count_bits(mask));
    const int shift = node_.shift_for(most - least, bit_width(static_cast<uint64_t>(weight)));
    int64_t sum = 0;
    for (; mask; mask &= mask - 1) {
      const int i = lowest_bit(mask);
      const auto distance = static_cast<uint64_t>(node_.value(i) - least);
      const int64_t part = node_.weighted(distance, samples_[i].weight, shift, all_ones);
      search_.set_sample(i, samples_[i].weight, part);
      sum += part;
    }
    search_.begin(weight, sum, node_.factor_for(0, shift));
  }

  // Finds the best threshold or category set of randomly drawn columns. Returns the samples that go
  // to the right.
  MDDF_SMALL_TARGET uint64_t find_best_split(const Node& node, Random& random, Split& best) {
    begin_search(node.mask);
    std::array<int32_t, kSmall> drawn;
    std::array<uint8_t, kSmall> constant;
    pool_.draw_candidates(random, node.n_constant, options_.max_features, kSmall, drawn.data(),
                          constant.data(), [&](int64_t n_drawn) MDDF_SMALL_TARGET {
                            Base::gather(drawn.data(), n_drawn, node.mask);
                            for (int64_t j = 0; j < n_drawn; ++j)
                              constant[j] = !try_column(drawn[j], Base::gathered(j, drawn[j]),
                                                        node.mask, best);
                          });
    if (best.column < 0) return 0;
    Base::gather(&best.column, 1, node.mask);
    const uint8_t* codes = Base::gathered(0, best.column);
    uint64_t right = 0;
    for (uint64_t rest = node.mask; rest; rest &= rest - 1) {
      const int i = lowest_bit(rest);
      right |= static_cast<uint64_t>(best.goes_right(codes[i])) << i;
    }
    if (best.categorical) Base::send_unseen(codes, node.mask, right, best);
    return right;
  }

  // Replaces `best` if the column has a better split. Returns false if it is constant.
  MDDF_SMALL_TARGET bool try_column(int32_t column, const uint8_t* codes, uint64_t mask,
                                    Split& best) {
    if (count_bits(mask) == 2 && !data_.bins.categorical[column]) {
      const int a = lowest_bit(mask), b = lowest_bit(mask & (mask - 1));
      if (std::max(codes[a], codes[b]) != kMissing)
        return search_.try_pair(column, a, codes[a], b, codes[b], best);
    }
    const bool keeps_all = Base::keeps_all_columns();
    SortedColumn& sorted = sorted_[keeps_all ? column : 0];
    if (!keeps_all) {
      sorted.sort(codes, mask);
    } else if (sorted_in_[column] != n_subtrees_) {
      sorted.sort(codes, ~uint64_t{0} >> (kSmall - n_samples_));
      sorted_in_[column] = n_subtrees_;
    }
    const uint64_t places = sorted.places(mask);
    return data_.bins.categorical[column] ? search_.try_categories(column, sorted, places, best)
                                          : search_.try_thresholds(column, sorted, places, best);
  }

  const RowSample* samples_ = nullptr;
  NodeValues<true> node_, leaf_;  // the samples of the subtree; of a leaf
  SmallSearch search_;
  std::vector<SortedColumn> sorted_;  // by column, or one in wide tables
  std::vector<uint64_t> sorted_in_;   // number of the subtree whose samples were sorted
  uint64_t n_subtrees_ = 0;
  std::array<int64_t, kSmall + 1> part_{};  // weighted distances of the samples; the last is 0
};

}  // namespace mddf::MDDF_SMALL
