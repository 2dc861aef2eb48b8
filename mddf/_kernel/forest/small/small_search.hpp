// Finds the best split of a column at a node of at most 64 samples with numeric targets. The bits
// are those of ValueSearch. small_trees.hpp includes this header for each set of vectors.

namespace mddf::MDDF_SMALL {

// Searches the splits of a node.
class SmallSearch {
 public:
  // Begins a node with these sums. set_sample() has set its samples. `factor` is the factor of
  // squared sums; see NodeValues.
  void begin(double weight, int64_t part, double factor) {
    split_ = TargetSplit(weight, part);
    weight_of_node_ = weight;
    factor_ = factor;
  }
  // The decrease of the squared error by a split with this score.
  double gain(double score) const { return weight_of_node_ * score * factor_; }
  void set_sample(int i, double weight, int64_t part) {
    weight_[i] = weight;
    part_[i] = part;
  }

  // Does what try_thresholds() does for a node of two samples, without missing values.
  bool try_pair(int32_t column, int a, int code_a, int b, int code_b, Split& best) const {
    if (code_a == code_b) return false;
    const int left = code_a < code_b ? a : b;
    if (!split_.improve(weight_[left], part_[left], true, best.score)) return true;
    best.column = column;
    best.categorical = best.saw_missing = best.missing_left = false;
    best.threshold = std::min(code_a, code_b);
    best.first_right = std::max(code_a, code_b);
    return true;
  }

  // Replaces `best` if this column has a better threshold. Its samples are in these places. Returns
  // false if the column is constant.
  MDDF_SMALL_TARGET bool try_thresholds(int32_t column, const SortedColumn& sorted, uint64_t places,
                                        Split& best) {
    if (sorted.is_constant(places)) return false;
    if (sorted.last_code(places) != kMissing) {
      search(column, sorted, places, 0, 0, best);
      return true;
    }
    if (search(column, sorted, places, 0, 0, best)) best.saw_missing = true;
    uint64_t present = places;
    double weight = 0;
    int64_t part = 0;
    while (sorted.last_code(present) == kMissing) {
      const int place = bit_width(present) - 1;
      weight += weight_[sorted.sample[place]];
      part += part_[sorted.sample[place]];
      present ^= uint64_t{1} << place;
    }
    if (search(column, sorted, present, weight, part, best))
      best.saw_missing = best.missing_left = true;
    return true;
  }

  // Does the same for the sets of the categories with the lowest means.
  bool try_categories(int32_t column, const SortedColumn& sorted, uint64_t places, Split& best) {
    if (sorted.is_constant(places)) return false;
    const bool saw_missing = sorted.last_code(places) == kMissing;
    std::array<Category, kSmall> categories;
    int n = 0;
    for (; places; places &= places - 1) {
      const int place = lowest_bit(places);
      const int i = sorted.sample[place];
      if (n == 0 || categories[n - 1].code != sorted.code[place])
        categories[n++] = {sorted.code[place], 0, 0, 0};
      categories[n - 1].weight += weight_[i];
      categories[n - 1].part += part_[i];
    }
    for (int g = 0; g < n; ++g)
      categories[g].mean = static_cast<double>(categories[g].part) / categories[g].weight;
    std::sort(categories.begin(), categories.begin() + n);
    double weight = 0;
    int64_t part = 0;
    for (int g = 0; g + 1 < n; ++g) {
      weight += categories[g].weight;
      part += categories[g].part;
      if (!split_.improve(weight, part, true, best.score)) continue;
      const double score = best.score;
      best = Split{};
      best.score = score;
      best.column = column;
      best.categorical = true;
      for (int i = 0; i <= g; ++i) best.left.insert(categories[i].code);
      best.saw_missing = saw_missing;
      best.missing_left = best.left.contains(kMissing);
    }
    return true;
  }

 private:
  struct Category {
    int code;
    double weight;
    int64_t part;
    double mean;
    bool operator<(const Category& other) const {
      return mean != other.mean ? mean < other.mean : code < other.code;
    }
  };

  // Replaces `best` if a threshold between two of these places is better. `weight` and `part` are
  // sums that are on the left of all thresholds. Returns whether `best` was replaced.
  MDDF_SMALL_TARGET MDDF_INLINE bool search(int32_t column, const SortedColumn& sorted,
                                            uint64_t places, double weight, int64_t part,
                                            Split& best) const {
    double score = best.score;
    int code = sorted.code[lowest_bit(places)], threshold = -1, first_right = 0;
    while (true) {
      const int i = sorted.sample[lowest_bit(places)];
      weight += weight_[i];
      part += part_[i];
      places &= places - 1;
      if (!places) break;
      const int next = sorted.code[lowest_bit(places)];
      const bool is_better = split_.improve(weight, part, code != next, score);
      threshold = is_better ? code : threshold;
      first_right = is_better ? next : first_right;
      code = next;
    }
    if (threshold < 0) return false;
    best.score = score;
    best.column = column;
    best.categorical = best.saw_missing = best.missing_left = false;
    best.threshold = threshold;
    best.first_right = first_right;
    return true;
  }

  TargetSplit split_;
  double weight_of_node_ = 0, factor_ = 0;
  // By sample. Weights are whole numbers below 2^16, so that their sums are exact.
  std::array<double, kSmall> weight_{};
  std::array<int64_t, kSmall> part_{};
};

}  // namespace mddf::MDDF_SMALL
