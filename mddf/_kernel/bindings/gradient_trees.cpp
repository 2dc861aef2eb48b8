// Python bindings of predictions by boosted trees.
#include <algorithm>
#include <memory>

#include "bindings/call.hpp"
#include "bindings/gradient_options.hpp"
#include "bindings/inputs.hpp"
#include "gradient_boosting/boost.hpp"

namespace mddf::gradient {
namespace {

using nb::arg;

class GradientTrees {
 public:
  GradientTrees(In<int64_t, 1> first_split, In<int64_t, 1> first_leaf, In<int32_t, 1> column,
                In<uint8_t, 1> shift, In<uint8_t, 1> threshold, In<int32_t, 1> set,
                In<int32_t, 1> left, In<int32_t, 1> right, In<uint64_t, 2> sets,
                In<double, 2> values, bool symmetric, int64_t n_columns,
                std::optional<In<int64_t, 1>> first_slope,
                std::optional<In<int32_t, 1>> slope_column, std::optional<In<double, 2>> slopes,
                std::optional<In<int16_t, 2>> positions)
      : first_split_(copied(first_split)),
        first_leaf_(copied(first_leaf)),
        column_(copied(column)),
        set_(copied(set)),
        left_(copied(left)),
        right_(copied(right)),
        shift_(copied(shift)),
        threshold_(copied(threshold)),
        sets_(sets.data(), sets.data() + sets.size()),
        values_(values.data(), values.data() + values.size()),
        width_(static_cast<int>(values.shape(1))),
        symmetric_(symmetric),
        n_columns_(n_columns) {
    const auto n_splits = static_cast<int64_t>(column_.size());
    check(sets.shape(1) == 4, "sets: expected 4 words for each set");
    check_range("columns of values", static_cast<int64_t>(values.shape(1)), 1, 65535);
    check_length("shift", shift_.size(), n_splits);
    check_length("threshold", threshold_.size(), n_splits);
    check_length("set", set_.size(), n_splits);
    check_each("column", column, "columns of the table",
               [=](int32_t c) { return 0 <= c && c < n_columns; });
    const auto n_sets = static_cast<int64_t>(sets.shape(0));
    check_each("set", set, "rows of sets, or -1",
               [=](int32_t number) { return -1 <= number && number < n_sets; });
    check_starts("first_split", first_split_, n_splits);
    check_starts("first_leaf", first_leaf_, static_cast<int64_t>(values.shape(0)));
    check_length("first_leaf", first_leaf_.size(), first_split_.size());
    if (symmetric) {
      check(left_.empty() && right_.empty(), "left, right: expected none of symmetric trees");
      for (int64_t t = 0; t < n_trees(); ++t) check_symmetric(t);
    } else {
      check_length("left", left_.size(), n_splits);
      check_length("right", right_.size(), n_splits);
      for (int64_t t = 0; t < n_trees(); ++t) check_tree(t);
    }
    bits_ = std::make_unique<LeafBits>(arrays(), n_trees());
    const bool has_slopes = first_slope.has_value();
    check(has_slopes == slope_column.has_value() && has_slopes == slopes.has_value() &&
              has_slopes == positions.has_value(),
          "first_slope, slope_column, slopes, positions: expected all of them or none");
    if (has_slopes) take_slopes(*first_slope, *slope_column, *slopes, *positions);
  }

  int64_t n_trees() const { return static_cast<int64_t>(first_split_.size()) - 1; }

  void add_raw(In<uint8_t, 2> codes, int64_t first, int64_t last, InOut<double, 2> out,
               Cancel* cancel) const {
    check_codes(codes);
    check_part(first, last, n_trees(), "trees");
    check(out.shape(0) == codes.shape(0) && static_cast<int>(out.shape(1)) == width_,
          "out: expected one row per row of codes and one column per score");
    without_gil(cancel, [&](Interrupt& interrupt) {
      gradient::add_raw(arrays(), first, last, codes.data(), static_cast<int64_t>(codes.shape(0)),
                        n_columns_, out.data(), interrupt);
    });
  }
  void leaves(In<uint8_t, 2> codes, InOut<int32_t, 2> out, Cancel* cancel) const {
    check_codes(codes);
    check(out.shape(0) == codes.shape(0) && static_cast<int64_t>(out.shape(1)) == n_trees(),
          "out: expected one row per row of codes and one column per tree");
    without_gil(cancel, [&](Interrupt& interrupt) {
      find_leaves(arrays(), n_trees(), codes.data(), static_cast<int64_t>(codes.shape(0)),
                  n_columns_, out.data(), interrupt);
    });
  }

 private:
  template <class T>
  static std::vector<T> copied(const In<T, 1>& values) {
    return {values.data(), values.data() + values.shape(0)};
  }
  static void check_starts(const char* name, const std::vector<int64_t>& start, int64_t n) {
    check(!start.empty() && start[0] == 0 && start.back() == n &&
              std::is_sorted(start.begin(), start.end()),
          std::string(name) + ": expected to rise from 0 to the number of what it counts");
  }
  void check_codes(const In<uint8_t, 2>& codes) const {
    check(static_cast<int64_t>(codes.shape(1)) == n_columns_,
          "codes: expected as many columns as the trees were made for");
  }
  void check_symmetric(int64_t tree) const {
    const int64_t depth = first_split_[tree + 1] - first_split_[tree];
    check(depth <= kDeepestSymmetric && first_leaf_[tree + 1] - first_leaf_[tree] == int64_t{1}
                                                                                         << depth,
          "first_leaf: expected a leaf for each path of a symmetric tree");
  }
  // Children come after their parents, so that every descent ends.
  void check_tree(int64_t tree) const {
    const int64_t first = first_split_[tree], n = first_split_[tree + 1] - first;
    const int64_t n_leaves = first_leaf_[tree + 1] - first_leaf_[tree];
    check(n_leaves == n + 1, "first_leaf: expected one leaf more than splits");
    bool fits = true;
    for (int64_t i = 0; i < n; ++i)
      for (const int64_t child : {left_[first + i], right_[first + i]})
        fits &= child >= 0 ? (child > i && child < n) : -1 - child < n_leaves;
    check(fits, "left, right: expected splits behind their parents, and leaves of the tree");
  }
  void take_slopes(const In<int64_t, 1>& first_slope, const In<int32_t, 1>& slope_column,
                   const In<double, 2>& slopes, const In<int16_t, 2>& positions) {
    first_slope_ = copied(first_slope);
    slope_column_ = copied(slope_column);
    const auto n_slopes = static_cast<int64_t>(slope_column_.size());
    check_starts("first_slope", first_slope_, n_slopes);
    check_length("first_slope", first_slope_.size(), values_.size() / width_ + 1);
    check_each("slope_column", slope_column, "columns of the table",
               [this](int32_t c) { return 0 <= c && c < n_columns_; });
    check(static_cast<int64_t>(slopes.shape(0)) == n_slopes &&
              static_cast<int>(slopes.shape(1)) == width_,
          "slopes: expected a row for each of slope_column, and a column for each score");
    check(static_cast<int64_t>(positions.shape(0)) == n_columns_ && positions.shape(1) == 256,
          "positions: expected 256 numbers for each column");
    slopes_.assign(slopes.data(), slopes.data() + slopes.size());
    positions_.assign(positions.data(), positions.data() + positions.size());
  }
  TreeArrays arrays() const {
    TreeArrays arrays{width_,         symmetric_,        first_split_.data(), first_leaf_.data(),
                      column_.data(), set_.data(),       left_.data(),        right_.data(),
                      shift_.data(),  threshold_.data(), sets_.data(),        values_.data()};
    if (!first_slope_.empty()) {
      arrays.first_slope = first_slope_.data();
      arrays.slope_column = slope_column_.data();
      arrays.slopes = slopes_.data();
      arrays.positions = positions_.data();
    }
    if (!bits_) return arrays;
    arrays.left_leaves = bits_->left_leaves.data();
    arrays.leaf_of_bit = bits_->leaf_of_bit.data();
    arrays.has_bits = bits_->has_bits.data();
    return arrays;
  }

  std::vector<int64_t> first_split_, first_leaf_;
  std::vector<int32_t> column_, set_, left_, right_;
  std::vector<uint8_t> shift_, threshold_;
  std::vector<uint64_t> sets_;
  std::vector<double> values_;
  // Empty if leaves are constant.
  std::vector<int64_t> first_slope_;
  std::vector<int32_t> slope_column_;
  std::vector<double> slopes_;
  std::vector<int16_t> positions_;
  std::unique_ptr<LeafBits> bits_;
  int width_;
  bool symmetric_;
  int64_t n_columns_;
};

}  // namespace

void bind_gradient_trees(nb::module_& m) {
  nb::class_<GradientTrees>(m, "GradientTrees",
                            R"(Boosted trees for predictions of coded rows.

Parameters
----------
first_split, first_leaf : int64 arrays of shape (n_trees + 1,)
    First split and first leaf of each tree.
column : int32 array of shape (n_splits,)
shift, threshold : uint8 arrays of shape (n_splits,)
    A row goes left if code + shift, modulo 256, is at most the threshold.
set : int32 array of shape (n_splits,)
    Row of `sets` with the codes that go left; -1: the threshold decides.
left, right : int32 arrays of shape (n_splits,)
    Splits of the tree, or leaves as -1 - number. Empty for symmetric trees, which have one split
    per level; each split is one bit of the leaf number, the first split the highest bit.
sets : uint64 array of shape (n_sets, 4)
values : float64 array of shape (n_leaves, n_scores)
symmetric : bool
n_columns : int
    Number of columns of the codes.
first_slope : int64 array of shape (n_leaves + 1,) or None
    First slope of each leaf, for linear leaves; None: constant leaves.
slope_column : int32 array of shape (n_slopes,) or None
slopes : float64 array of shape (n_slopes, n_scores) or None
    Added to the value of a leaf, times the position of the row's code in the column.
positions : int16 array of shape (n_columns, 256) or None
    Positions of the codes of each column.)")
      .def(nb::init<In<int64_t, 1>, In<int64_t, 1>, In<int32_t, 1>, In<uint8_t, 1>, In<uint8_t, 1>,
                    In<int32_t, 1>, In<int32_t, 1>, In<int32_t, 1>, In<uint64_t, 2>, In<double, 2>,
                    bool, int64_t, std::optional<In<int64_t, 1>>, std::optional<In<int32_t, 1>>,
                    std::optional<In<double, 2>>, std::optional<In<int16_t, 2>>>(),
           arg("first_split").noconvert(), arg("first_leaf").noconvert(), arg("column").noconvert(),
           arg("shift").noconvert(), arg("threshold").noconvert(), arg("set").noconvert(),
           arg("left").noconvert(), arg("right").noconvert(), arg("sets").noconvert(),
           arg("values").noconvert(), arg("symmetric"), arg("n_columns"),
           arg("first_slope").none().noconvert() = nb::none(),
           arg("slope_column").none().noconvert() = nb::none(),
           arg("slopes").none().noconvert() = nb::none(),
           arg("positions").none().noconvert() = nb::none())
      .def("add_raw", &GradientTrees::add_raw, arg("codes").noconvert(), arg("first"), arg("last"),
           arg("out").noconvert(), arg("cancel").none() = nb::none(),
           R"(Add the raw predictions of some trees to `out`.

Parameters
----------
codes : uint8 array of shape (n_rows, n_columns)
first, last : int
    A range of trees.
out : float64 array of shape (n_rows, n_scores)
cancel : Cancel or None)")
      .def("leaves", &GradientTrees::leaves, arg("codes").noconvert(), arg("out").noconvert(),
           arg("cancel").none() = nb::none(),
           R"(Find the leaf that each row ends in.

Parameters
----------
codes : uint8 array of shape (n_rows, n_columns)
out : int32 array of shape (n_rows, n_trees)
    Leaf numbers within each tree.
cancel : Cancel or None)");
}

}  // namespace mddf::gradient
