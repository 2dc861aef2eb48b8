// Gradient boosting for Python.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "bindings/call.hpp"
#include "bindings/inputs.hpp"
#include "boosted/boost.hpp"

namespace mddf::gradient {
namespace {

using nb::arg;

constexpr std::array<std::pair<const char*, Loss>, 9> kLosses{{{"squared_error", Loss::kSquared},
                                                               {"absolute_error", Loss::kAbsolute},
                                                               {"quantile", Loss::kQuantile},
                                                               {"huber", Loss::kHuber},
                                                               {"poisson", Loss::kPoisson},
                                                               {"gamma", Loss::kGamma},
                                                               {"log_loss", Loss::kLogistic},
                                                               {"exponential", Loss::kExponential},
                                                               {"softmax", Loss::kSoftmax}}};

Loss loss_named(const std::string& name) {
  for (const auto& [known, loss] : kLosses)
    if (name == known) return loss;
  refuse("loss: no loss is called " + name);
}

void check_share(const char* name, double value, bool zero) {
  check(value <= 1 && (zero ? value >= 0 : value > 0),
        std::string(name) + ": expected a share, got " + std::to_string(value));
}

void check_positive(const char* name, double value, bool zero) {
  check(std::isfinite(value) && (zero ? value >= 0 : value > 0),
        std::string(name) + ": expected a finite number above 0, got " + std::to_string(value));
}

Options checked_options(Options options) {
  if (options.loss == Loss::kSoftmax) check_range("n_classes", options.n_classes, 2, 65535);
  check_positive("learning_rate", options.learning_rate, false);
  check_positive("l2", options.l2, true);
  check_positive("category_smoothing", options.category_smoothing, true);
  check_share("subsample", options.subsample, false);
  check_share("quantile", options.quantile, true);
  if (options.symmetric)
    check_range("max_depth", options.max_depth, 1, kDeepestSymmetric);
  else
    check_range("max_depth", options.max_depth, 0, INT32_MAX);
  check_range("max_leaf_nodes", options.max_leaf_nodes, 1, kMostLeafNodes);
  check_at_least("min_samples_leaf", options.min_samples_leaf, 1);
  check_at_least("max_features", options.max_features, 1);
  check_at_least("n_copies", options.n_copies, 1);
  return options;
}

// Options of one table's columns.
class BoostOptions {
 public:
  BoostOptions(const std::string& loss, int n_classes, bool symmetric, double learning_rate,
               int max_depth, int max_leaf_nodes, int64_t min_samples_leaf, double l2,
               int64_t max_features, double subsample, int64_t n_copies, double quantile,
               double category_smoothing, std::optional<In<int8_t, 1>> monotonic,
               std::optional<In<uint8_t, 2>> interactions, const std::string& counting,
               bool wide_vectors) {
    Options given;
    given.loss = loss_named(loss);
    given.n_classes = n_classes;
    given.symmetric = symmetric;
    given.learning_rate = learning_rate;
    given.max_depth = max_depth;
    given.max_leaf_nodes = max_leaf_nodes;
    given.min_samples_leaf = min_samples_leaf;
    given.l2 = l2;
    given.max_features = max_features;
    given.subsample = subsample;
    given.n_copies = n_copies;
    given.quantile = quantile;
    given.category_smoothing = category_smoothing;
    given.wide_vectors = wide_vectors;
    check(counting == "cheaper" || counting == "walk" || counting == "histograms",
          "counting: expected cheaper, walk or histograms, got " + counting);
    given.counting = counting == "walk"         ? Counting::kWalk
                     : counting == "histograms" ? Counting::kHistograms
                                                : Counting::kCheaper;
    if (monotonic) {
      check_each("monotonic", *monotonic, "-1, 0 or 1",
                 [](int8_t sign) { return -1 <= sign && sign <= 1; });
      check(given.loss != Loss::kSoftmax, "monotonic: not with several classes");
      n_columns_ = static_cast<int64_t>(monotonic->shape(0));
      const auto signs = as_span(*monotonic);
      if (std::any_of(signs.begin(), signs.end(), [](int8_t sign) { return sign != 0; }))
        given.monotonic.assign(signs.begin(), signs.end());
    }
    if (interactions) {
      const auto n = static_cast<int64_t>(interactions->shape(1));
      check(!monotonic || n == n_columns_, "interactions: expected a column for each of monotonic");
      check(interactions->shape(0) > 0, "interactions: expected a group");
      n_columns_ = n;
      given.n_groups = static_cast<int64_t>(interactions->shape(0));
      given.interactions.assign(interactions->data(), interactions->data() + interactions->size());
    }
    options_ = checked_options(given);
  }
  const Options& options() const { return options_; }
  // How many columns the table must have, or -1.
  int64_t n_columns() const { return n_columns_; }

 private:
  Options options_;
  int64_t n_columns_ = -1;
};

std::vector<int32_t> checked_rows(const char* name, const In<int32_t, 1>& rows, int64_t n_rows) {
  check_each(name, rows, "rows of the table",
             [n_rows](int32_t row) { return 0 <= row && row < n_rows; });
  return {rows.data(), rows.data() + rows.shape(0)};
}

void check_targets(const Options& options, const In<double, 1>& y, int64_t n_rows) {
  check_length("y", y.shape(0), n_rows);
  const bool softmax = options.loss == Loss::kSoftmax;
  const bool two = options.loss == Loss::kLogistic || options.loss == Loss::kExponential;
  const int n = softmax ? options.n_classes : two ? 2 : 0;
  const bool positive = options.loss == Loss::kGamma;
  const bool least_zero = positive || options.loss == Loss::kPoisson;
  check_each("y", y, "finite numbers that fit the loss", [=](double value) {
    if (n > 0) return value >= 0 && value < n && value == std::floor(value);
    return std::isfinite(value) && std::fabs(value) < 1e100 && !(least_zero && value < 0) &&
           !(positive && value == 0);
  });
}

class GradientBooster {
 public:
  GradientBooster(BinnedTable& table, In<double, 1> y, std::optional<In<double, 1>> weights,
                  In<int32_t, 1> train, In<int32_t, 1> held_out, const BoostOptions& options,
                  std::optional<In<double, 2>> start, Cancel* cancel,
                  std::optional<In<uint64_t, 1>> keys) {
    const BinnedTable::Use use(table);
    const BinMatrix matrix = table.matrix();
    const int64_t n_rows = matrix.n_rows;
    check_targets(options.options(), y, n_rows);
    check(train.shape(0) > 0 &&
              static_cast<int64_t>(train.shape(0)) % options.options().n_copies == 0,
          "train: expected at least one row, and as many in each copy");
    check(options.n_columns() < 0 || options.n_columns() == matrix.n_columns,
          "options: made for a table of another number of columns");
    std::vector<int32_t> rows = checked_rows("train", train, n_rows);
    std::vector<int32_t> others = checked_rows("held_out", held_out, n_rows);
    bool whole = false;
    if (weights) {
      check_length("weights", weights->shape(0), n_rows);
      check_each("weights", *weights, "finite numbers that are not negative",
                 [](double weight) { return weight >= 0 && weight <= 1e15; });
      double total = 0;
      whole = true;
      for (const int32_t row : rows) {
        const double weight = weights->data()[row];
        check(weight > 0, "weights: expected more than 0 of rows to train on");
        whole = whole && weight == std::floor(weight);
        total += weight;
      }
      whole = whole && total <= 0x1p30;
    }
    if (keys) check_length("keys", keys->shape(0), n_rows);
    if (start) {
      check(static_cast<int64_t>(start->shape(0)) == n_rows &&
                static_cast<int>(start->shape(1)) == options.options().width(),
            "start: expected a row for each of the table, and a column for each score");
      check(std::all_of(start->data(), start->data() + start->size(),
                        [](double value) { return std::fabs(value) < 1e100; }),
            "start: expected finite numbers");
    }
    const Target target{y.data(), data_or_null(weights), whole, data_or_null(keys)};
    without_gil(cancel, [&](Interrupt& interrupt) {
      booster_ = std::make_unique<Booster>(table.boosting_codes(interrupt), table.bins(), target,
                                           std::move(rows), std::move(others), options.options(),
                                           start ? start->data() : nullptr, interrupt);
    });
  }

  bool grow(In<uint64_t, 1> seeds, int64_t patience, double tol, bool watch_training, Team* team,
            Cancel* cancel) {
    check_at_least("patience", patience, 0);
    const Busy busy(*this);
    if (watch_training) booster_->watch_training();
    return without_gil(cancel, [&](Interrupt& interrupt) {
      Team alone;
      return booster_->grow(seeds.data(), static_cast<int64_t>(seeds.shape(0)), patience, tol,
                            team ? *team : alone, interrupt);
    });
  }

  nb::dict trees() {
    const Busy busy(*this);
    const BoostedTrees& trees = booster_->trees();
    nb::dict arrays;
    arrays["first_split"] = to_numpy(trees.first_split);
    arrays["first_leaf"] = to_numpy(trees.first_leaf);
    arrays["column"] = to_numpy(trees.column);
    arrays["shift"] = to_numpy(trees.shift);
    arrays["threshold"] = to_numpy(trees.threshold);
    arrays["set"] = to_numpy(trees.set);
    arrays["left"] = to_numpy(trees.left);
    arrays["right"] = to_numpy(trees.right);
    arrays["gain"] = to_numpy(trees.gain);
    arrays["sets"] = table_of(trees.sets, 4);
    arrays["values"] = table_of(trees.values, trees.width);
    arrays["weight"] = to_numpy(trees.weight);
    return arrays;
  }
  Out<double, 1> start() { return to_numpy(booster_->start()); }
  Out<double, 1> losses() {
    const Busy busy(*this);
    return to_numpy(booster_->losses());
  }
  Out<double, 1> train_losses() {
    const Busy busy(*this);
    return to_numpy(booster_->train_losses());
  }
  int64_t best_round() { return booster_->best_round(); }
  int64_t n_rounds() { return booster_->trees().n_trees(); }
  Out<double, 2> raw(bool best) {
    const Busy busy(*this);
    return table_of(best ? booster_->best_raw() : booster_->held_out_raw(),
                    booster_->trees().width);
  }

 private:
  template <class T>
  static Out<T, 2> table_of(const std::vector<T>& values, size_t width) {
    return to_numpy<T, 2>(values, {values.size() / width, width});
  }

  // A call that uses the booster. Made and destroyed with the GIL.
  class Busy {
   public:
    explicit Busy(GradientBooster& of) : of_(of) {
      check(!of.is_busy_, "booster: another call is at work on it");
      of_.is_busy_ = true;
    }
    Busy(const Busy&) = delete;
    ~Busy() { of_.is_busy_ = false; }

   private:
    GradientBooster& of_;
  };

  std::unique_ptr<Booster> booster_;
  bool is_busy_ = false;
};

class GradientTrees {
 public:
  GradientTrees(In<int64_t, 1> first_split, In<int64_t, 1> first_leaf, In<int32_t, 1> column,
                In<uint8_t, 1> shift, In<uint8_t, 1> threshold, In<int32_t, 1> set,
                In<int32_t, 1> left, In<int32_t, 1> right, In<uint64_t, 2> sets,
                In<double, 2> values, bool symmetric, int64_t n_columns)
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
  }

  int64_t n_trees() const { return static_cast<int64_t>(first_split_.size()) - 1; }

  void add_raw(In<uint8_t, 2> codes, int64_t first, int64_t last, InOut<double, 2> out,
               Cancel* cancel) const {
    check_codes(codes);
    check(0 <= first && first <= last && last <= n_trees(),
          "first, last: expected a range of trees");
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
          "first_leaf: expected a leaf for each way down a symmetric tree");
  }
  // Children come after their parents, so that every walk ends.
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
  TreeArrays arrays() const {
    TreeArrays arrays{width_,         symmetric_,        first_split_.data(), first_leaf_.data(),
                      column_.data(), set_.data(),       left_.data(),        right_.data(),
                      shift_.data(),  threshold_.data(), sets_.data(),        values_.data()};
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
  std::unique_ptr<LeafBits> bits_;
  int width_;
  bool symmetric_;
  int64_t n_columns_;
};

constexpr const char* kOptions = R"(How boosted trees are grown.

Parameters
----------
loss : str
    "squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "log_loss",
    "exponential" or "softmax".
n_classes : int
    Of softmax.
symmetric : bool
    Whether all leaves of a level are split alike.
learning_rate : float
max_depth : int
    From 1 to 16 of symmetric trees; of others, 0 for no limit.
max_leaf_nodes : int
    Of trees that are not symmetric.
min_samples_leaf : int
    Rows; whole weights do not multiply them.
l2 : float
    Added to the hessians of leaves.
max_features : int
    Columns drawn for each level or node.
subsample : float
    Share of the rows that each tree is grown on.
n_copies : int
    The rows to train on come so often, one copy after the other; each tree is grown on the next.
quantile : float
    Of the quantile loss; of Huber's, the share of residuals that are not large.
category_smoothing : float
    Rows without gradient that are added to each category before they are put in order.
monotonic : int8 array of shape (n_columns,) or None
    1 for columns with which raw predictions must not fall, -1 where they must not rise.
interactions : uint8 array of shape (n_groups, n_columns) or None
    Which columns a path may combine: those of one group.
counting : str
    "walk", "histograms" or "cheaper": how symmetric trees are grown. Changes only the time.
wide_vectors : bool
    Use vector instructions where the processor has them. They change nothing but the time.)";

constexpr const char* kBooster = R"(Boosting on some rows of a table, while others are looked at.

Parameters
----------
table : BinnedTable
y : float64 array of shape (n_rows,)
    Numbers or classes, of all rows of the table.
weights : float64 array of shape (n_rows,) or None
    Whole numbers make a row count as so many.
train, held_out : int32 arrays
    Rows. Without keys, the order of the former decides which of them are drawn.
options : BoostOptions
start : float64 array of shape (n_rows, n_scores) or None
    Raw predictions to go on from; None: the best constant.
cancel : Cancel or None
    What may stop the work.
keys : uint64 array of shape (n_rows,) or None
    Rows of the same key are drawn together, wherever they stand.)";

}  // namespace
}  // namespace mddf::gradient

void bind_gradient(nanobind::module_& m) {
  using namespace mddf;
  using namespace mddf::gradient;
  using nb::arg;
  nb::class_<BoostOptions>(m, "BoostOptions", kOptions)
      .def(nb::init<const std::string&, int, bool, double, int, int, int64_t, double, int64_t,
                    double, int64_t, double, double, std::optional<In<int8_t, 1>>,
                    std::optional<In<uint8_t, 2>>, const std::string&, bool>(),
           arg("loss"), nb::kw_only(), arg("n_classes") = 2, arg("symmetric") = true,
           arg("learning_rate") = 0.1, arg("max_depth") = 6, arg("max_leaf_nodes") = 31,
           arg("min_samples_leaf") = 1, arg("l2") = 0.0, arg("max_features") = INT32_MAX,
           arg("subsample") = 1.0, arg("n_copies") = 1, arg("quantile") = 0.5,
           arg("category_smoothing") = 10.0, arg("monotonic").none().noconvert() = nb::none(),
           arg("interactions").none().noconvert() = nb::none(), arg("counting") = "cheaper",
           arg("wide_vectors") = true);
  nb::class_<Team>(m, "BoostTeam", R"(Threads that share the work of a booster.

Parameters
----------
n_threads : int
    The one that grows, and those that help it.)")
      .def(
          "__init__",
          [](Team* self, int n_threads) {
            check_range("n_threads", n_threads, 1, 65535);
            new (self) Team(n_threads);
          },
          arg("n_threads"))
      .def(
          "help",
          [](Team& team, Cancel* cancel) {
            return without_gil(cancel, [&](Interrupt& interrupt) { return team.help(interrupt); });
          },
          arg("cancel").none() = nb::none(),
          "Help until the team is closed; return how many pieces of work were done.")
      .def("close", &Team::close, "Send all helpers home.");
  nb::class_<GradientBooster>(m, "GradientBooster", kBooster)
      .def(nb::init<BinnedTable&, In<double, 1>, std::optional<In<double, 1>>, In<int32_t, 1>,
                    In<int32_t, 1>, const BoostOptions&, std::optional<In<double, 2>>, Cancel*,
                    std::optional<In<uint64_t, 1>>>(),
           arg("table"), arg("y").noconvert(), arg("weights").none().noconvert(),
           arg("train").noconvert(), arg("held_out").noconvert(), arg("options"),
           arg("start").none().noconvert() = nb::none(), arg("cancel").none() = nb::none(),
           arg("keys").none().noconvert() = nb::none())
      .def("grow", &GradientBooster::grow, arg("seeds").noconvert(), arg("patience") = 0,
           arg("tol") = 0.0, arg("watch_training") = false, arg("team").none() = nb::none(),
           arg("cancel").none() = nb::none(),
           R"(Grow one tree for each seed; return whether the held-out loss has stopped falling.

Parameters
----------
seeds : uint64 array of shape (n_trees,)
patience : int
    Stop after so many rounds that did not lower the loss by more than `tol`; 0 for never.
tol : float
watch_training : bool
    Whether losses of the training rows are wanted, too, from now on.
team : BoostTeam or None
    Threads that help; of one booster. Does not change the result.
cancel : Cancel or None)")
      .def("trees", &GradientBooster::trees, "Return the trees as arguments of GradientTrees.")
      .def("losses", &GradientBooster::losses,
           "Return the mean held-out loss before the first round and after each one.")
      .def("train_losses", &GradientBooster::train_losses,
           "Return the same of the training rows, since they are watched.")
      .def("raw", &GradientBooster::raw, arg("best") = true,
           "Return raw predictions of the rows held out: after the best round, or the last.")
      .def_prop_ro("start", &GradientBooster::start, nb::rv_policy::automatic,
                   "The raw prediction before the first round.")
      .def_prop_ro("best_round", &GradientBooster::best_round,
                   "The number of rounds with the least held-out loss.")
      .def_prop_ro("n_rounds", &GradientBooster::n_rounds, "The number of rounds so far.");
  nb::class_<GradientTrees>(m, "GradientTrees",
                            R"(Boosted trees that are asked about rows of codes.

Parameters
----------
first_split, first_leaf : int64 arrays of shape (n_trees + 1,)
    Where those of each tree begin.
column : int32 array of shape (n_splits,)
shift, threshold : uint8 arrays of shape (n_splits,)
    Rows go left whose code plus shift, modulo 256, is at most the threshold.
set : int32 array of shape (n_splits,)
    The row of `sets` whose codes go left, instead; -1 for none.
left, right : int32 arrays of shape (n_splits,)
    Splits of the tree, or leaves as -1 - number. Empty of symmetric trees, of which each split is
    a level, and leaves are numbered by a bit for each, the first one the highest.
sets : uint64 array of shape (n_sets, 4)
values : float64 array of shape (n_leaves, n_scores)
symmetric : bool
n_columns : int
    Of the codes.)")
      .def(nb::init<In<int64_t, 1>, In<int64_t, 1>, In<int32_t, 1>, In<uint8_t, 1>, In<uint8_t, 1>,
                    In<int32_t, 1>, In<int32_t, 1>, In<int32_t, 1>, In<uint64_t, 2>, In<double, 2>,
                    bool, int64_t>(),
           arg("first_split").noconvert(), arg("first_leaf").noconvert(), arg("column").noconvert(),
           arg("shift").noconvert(), arg("threshold").noconvert(), arg("set").noconvert(),
           arg("left").noconvert(), arg("right").noconvert(), arg("sets").noconvert(),
           arg("values").noconvert(), arg("symmetric"), arg("n_columns"))
      .def_prop_ro("n_trees", &GradientTrees::n_trees)
      .def("add_raw", &GradientTrees::add_raw, arg("codes").noconvert(), arg("first"), arg("last"),
           arg("out").noconvert(), arg("cancel").none() = nb::none(),
           R"(Add what some trees say of rows.

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
    Numbers within each tree.
cancel : Cancel or None)");
}
