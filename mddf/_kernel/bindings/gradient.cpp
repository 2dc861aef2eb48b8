// Python bindings of gradient boosting.
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "bindings/call.hpp"
#include "bindings/gradient_options.hpp"
#include "bindings/inputs.hpp"
#include "gradient_boosting/boost.hpp"

namespace mddf::gradient {
namespace {

std::vector<int32_t> checked_rows(const char* name, const In<int32_t, 1>& rows, int64_t n_rows) {
  check_each(name, rows, "rows of the table",
             [n_rows](int32_t row) { return 0 <= row && row < n_rows; });
  return {rows.data(), rows.data() + rows.shape(0)};
}

void check_targets(const Options& options, const In<double, 1>& y, int64_t n_rows) {
  check_length("y", y.shape(0), n_rows * options.target_width());
  const bool softmax = options.loss == Loss::kSoftmax;
  const bool two = options.loss == Loss::kLogistic || options.loss == Loss::kExponential;
  const int n = softmax ? options.n_classes : two ? 2 : 0;
  const bool positive = options.loss == Loss::kGamma;
  const bool least_zero =
      positive || options.loss == Loss::kPoisson || options.loss == Loss::kTweedie;
  check_each("y", y, "finite numbers that fit the loss", [=](double value) {
    if (n > 0) return value >= 0 && value < n && value == std::floor(value);
    return std::isfinite(value) && std::fabs(value) < 1e100 && !(least_zero && value < 0) &&
           !(positive && value == 0);
  });
}

void check_scores(const std::string& name, const In<double, 2>& scores, int64_t n_rows, int width) {
  check(
      static_cast<int64_t>(scores.shape(0)) == n_rows && static_cast<int>(scores.shape(1)) == width,
      name + ": expected a row for each of the table, and a column for each score");
  check(std::all_of(scores.data(), scores.data() + scores.size(),
                    [](double value) { return std::fabs(value) < 1e100; }),
        name + ": expected finite numbers");
}

void check_positions(const In<int16_t, 2>& positions, const Bins& bins, bool is_shard) {
  check(!is_shard, "positions: linear leaves need all rows in one process");
  check(static_cast<int64_t>(positions.shape(0)) == bins.n_columns && positions.shape(1) == 256,
        "positions: expected 256 numbers for each column");
  for (int64_t c = 0; c < bins.n_columns; ++c) {
    const int16_t* of_column = positions.data() + 256 * c;
    const int n_bins = bins.count(c);
    check(std::all_of(of_column, of_column + 256,
                      [](int16_t position) { return std::abs(position) <= kMostPosition; }) &&
              std::all_of(of_column + n_bins, of_column + 256,
                          [](int16_t position) { return position == 0; }),
          "positions: expected numbers from -256 to 256, and 0 without a bin");
  }
}

// Sums over the rows of several processes, by methods of an object of Python; see
// `_base/communication.py`.
class PythonExchange : public Exchange {
 public:
  explicit PythonExchange(nb::object communicator) : communicator_(std::move(communicator)) {}

  void sum(int32_t* numbers, int64_t n) override { call("add_up", numbers, n); }
  void sum(double* numbers, int64_t n) override { call("add_up", numbers, n); }
  void max(double* numbers, int64_t n) override { call("maximize", numbers, n); }
  void sum_and_max(double* sums, int64_t n_sums, double* maxima, int64_t n_maxima) override {
    nb::gil_scoped_acquire acquire;
    communicator_.attr("add_up_and_maximize")(view(sums, n_sums), view(maxima, n_maxima));
  }
  void receive(double* numbers, int64_t n) override { call("receive_from_before", numbers, n); }
  void pass_on(double* numbers, int64_t n) override { call("pass_on", numbers, n); }

 private:
  // The methods change the numbers in place; the array is a view of them.
  template <class T>
  static nb::object view(T* numbers, int64_t n) {
    const size_t length = n;
    nb::ndarray<nb::numpy, T, nb::ndim<1>> array(numbers, 1, &length, nb::none());
    return nb::cast(array, nb::rv_policy::reference);
  }
  template <class T>
  void call(const char* method, T* numbers, int64_t n) {
    nb::gil_scoped_acquire acquire;
    communicator_.attr(method)(view(numbers, n));
  }

  nb::object communicator_;
};

// A table of either kind during a call; `codes` is called without the GIL.
struct TableInUse {
  int64_t n_rows;
  Bins bins;
  std::function<std::shared_ptr<const TableCodes>(Interrupt&)> codes;
  std::unique_ptr<BinnedTable::Use> use;
};
TableInUse in_use(BinnedTable& table) {
  auto use = std::make_unique<BinnedTable::Use>(table);
  return {table.matrix().n_rows, table.bins(),
          [&table](Interrupt& interrupt) { return table.boosting_codes(interrupt); },
          std::move(use)};
}
TableInUse in_use(ColumnTable& table) {
  return {table.n_rows(), table.bins(), [&table](Interrupt&) { return table.boosting_codes(); },
          nullptr};
}

using AnyTable = std::variant<BinnedTable*, ColumnTable*>;

class GradientBooster {
 public:
  // The booster refers to the codes of the table, which must outlive it.
  GradientBooster(AnyTable any_table, In<double, 1> y, std::optional<In<double, 1>> weights,
                  In<int32_t, 1> train, In<int32_t, 1> held_out, const BoostOptions& checked,
                  std::optional<In<double, 2>> start, Cancel* cancel,
                  std::optional<In<uint64_t, 1>> keys, std::optional<In<double, 2>> offset,
                  nb::object communicator, std::optional<In<int16_t, 2>> positions) {
    const TableInUse table = std::visit([](auto* of) { return in_use(*of); }, any_table);
    if (!communicator.is_none())
      exchange_ = std::make_unique<PythonExchange>(std::move(communicator));
    const Shards shards(exchange_.get());
    const int64_t n_rows = table.n_rows;
    const Options& options = checked.options;
    check_targets(options, y, n_rows);
    check((train.shape(0) > 0 || exchange_) &&
              static_cast<int64_t>(train.shape(0)) % options.n_copies == 0,
          "train: expected at least one row, and as many in each copy");
    check(!exchange_ || !options.needs_quantiles() || options.monotonic.empty(),
          "communicator: expected no monotonic constraints with quantiles");
    check(checked.n_columns < 0 || checked.n_columns == table.bins.n_columns,
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
      whole = shards.max(whole ? 0.0 : 1.0) == 0 && shards.sum(total) <= 0x1p30;
    }
    if (keys) check_length("keys", keys->shape(0), n_rows);
    if (start) check_scores("start", *start, n_rows, options.width());
    check(checked.linear_leaves == positions.has_value(),
          "positions: expected for linear leaves, and not for others");
    if (positions) check_positions(*positions, table.bins, exchange_ != nullptr);
    if (offset) check_scores("offset", *offset, n_rows, options.width());
    const Target target{
        y.data(),           offset ? offset->data() : nullptr,      data_or_null(weights), whole,
        data_or_null(keys), positions ? positions->data() : nullptr};
    without_gil(cancel, [&](Interrupt& interrupt) {
      booster_ = std::make_unique<Booster>(table.codes(interrupt), table.bins, target,
                                           std::move(rows), std::move(others), options,
                                           start ? start->data() : nullptr, shards, interrupt);
    });
  }

  bool grow(In<uint64_t, 1> seeds, int64_t patience, double tol, bool watch_training, Team* team,
            Cancel* cancel, std::optional<In<double, 1>> rates) {
    check_at_least("patience", patience, 0);
    if (rates) {
      check_length("rates", rates->shape(0), seeds.shape(0));
      check_each("rates", *rates, "positive numbers",
                 [](double rate) { return std::isfinite(rate) && rate > 0; });
    }
    const Busy busy(*this);
    if (watch_training) booster_->watch_training();
    return without_gil(cancel, [&](Interrupt& interrupt) {
      Team alone;
      return booster_->grow(seeds.data(), rates ? rates->data() : nullptr,
                            static_cast<int64_t>(seeds.shape(0)), patience, tol,
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
    if (!trees.first_slope.empty()) {
      arrays["first_slope"] = to_numpy(trees.first_slope);
      arrays["slope_column"] = to_numpy(trees.slope_column);
      arrays["slopes"] = table_of(trees.slopes, trees.width);
    }
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
  double large_residual() {
    const Busy busy(*this);
    return booster_->large_residual();
  }
  void set_large_residual(double large) {
    const Busy busy(*this);
    check(large >= 0, "large_residual: expected a number that is not negative");
    booster_->set_large_residual(large);
  }
  // Views of the kernel's memory, which the next round overwrites.
  Shared<In<double, 2>> train_raw() { return view_of(booster_->train_raw()); }
  Shared<In<double, 2>> held_out_raw() { return view_of(booster_->held_out_raw()); }
  void set_gradients(In<double, 2> gradient, In<double, 2> hessian) {
    const Busy busy(*this);
    const auto n = static_cast<size_t>(booster_->n_train());
    const auto width = static_cast<size_t>(booster_->trees().width);
    for (const In<double, 2>* values : {&gradient, &hessian})
      check(values->shape(0) == n && values->shape(1) == width,
            "gradient, hessian: expected a row for each training row, a column for each score");
    for (size_t i = 0; i < n * width; ++i)
      check(std::isfinite(gradient.data()[i]) && std::isfinite(hessian.data()[i]) &&
                hessian.data()[i] >= 0,
            "gradient, hessian: expected finite numbers, and hessians that are not negative");
    booster_->take_gradients(gradient.data(), hessian.data());
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

  Shared<In<double, 2>> view_of(const std::vector<double>& values) {
    const auto width = static_cast<size_t>(booster_->trees().width);
    return Shared<In<double, 2>>(values.data(), {values.size() / width, width}, nb::find(this));
  }

  // A call that uses the booster; constructed and destroyed while the GIL is held.
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

  std::unique_ptr<Exchange> exchange_;  // before the booster, which uses it
  std::unique_ptr<Booster> booster_;
  bool is_busy_ = false;
};

constexpr const char* kBooster =
    R"(Boosting on some rows of a table, with the loss of held-out rows.

Parameters
----------
table : BinnedTable or ColumnTable
y : float64 array of shape (n_rows,)
    Numbers or classes, of all rows of the table. With several outputs, all targets of the first
    row, then those of the second row, and so on. Empty for the loss "custom".
weights : float64 array of shape (n_rows,) or None
    A row of whole weight k counts as k rows.
train, held_out : int32 arrays
    Rows of the table. Without keys, draws depend on the order of the training rows.
options : BoostOptions
start : float64 array of shape (n_rows, n_scores) or None
    Initial raw predictions, without offsets; None: the best constant.
cancel : Cancel or None
    Stops the call on request.
keys : uint64 array of shape (n_rows,) or None
    Rows with equal keys are drawn together, whatever the order of rows.
offset : float64 array of shape (n_rows, n_scores) or None
    Added to the raw prediction of each row. It is not part of the trees or of `start`.
communicator : Communicator or None
    If the rows are one shard of a table, an object that exchanges sums with the processes that
    have the other shards. All of them then make the same calls and grow the same trees.
positions : int16 array of shape (n_columns, 256) or None
    For linear leaves: a whole number from -256 to 256 for each code; 0 for missing values.)";

}  // namespace
}  // namespace mddf::gradient

void bind_gradient(nanobind::module_& m) {
  using namespace mddf;
  using namespace mddf::gradient;
  using nb::arg;
  bind_boost_options(m);
  bind_gradient_trees(m);
  nb::class_<Team>(m, "BoostTeam", R"(Threads that share the work of a booster.

Parameters
----------
n_threads : int
    Number of threads, including the calling thread.)")
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
          "Work until the team is closed; return the number of finished pieces of work.")
      .def("close", &Team::close, "Let all helping threads return.");
  nb::class_<GradientBooster>(m, "GradientBooster", kBooster)
      .def(nb::init<AnyTable, In<double, 1>, std::optional<In<double, 1>>, In<int32_t, 1>,
                    In<int32_t, 1>, const BoostOptions&, std::optional<In<double, 2>>, Cancel*,
                    std::optional<In<uint64_t, 1>>, std::optional<In<double, 2>>, nb::object,
                    std::optional<In<int16_t, 2>>>(),
           nb::keep_alive<1, 2>(), arg("table"), arg("y").noconvert(),
           arg("weights").none().noconvert(), arg("train").noconvert(), arg("held_out").noconvert(),
           arg("options"), arg("start").none().noconvert() = nb::none(),
           arg("cancel").none() = nb::none(), arg("keys").none().noconvert() = nb::none(),
           arg("offset").none().noconvert() = nb::none(), arg("communicator").none() = nb::none(),
           arg("positions").none().noconvert() = nb::none())
      .def("grow", &GradientBooster::grow, arg("seeds").noconvert(), arg("patience") = 0,
           arg("tol") = 0.0, arg("watch_training") = false, arg("team").none() = nb::none(),
           arg("cancel").none() = nb::none(), arg("rates").none().noconvert() = nb::none(),
           R"(Grow one tree for each seed; return whether early stopping has ended the fit.

Parameters
----------
seeds : uint64 array of shape (n_trees,)
patience : int
    Stop after this number of rounds without a decrease of the loss by more than `tol`; 0: never.
tol : float
watch_training : bool
    Whether to also compute the losses of the training rows from now on.
team : BoostTeam or None
    Threads that help; used by one booster only. Does not change the result.
cancel : Cancel or None
rates : float64 array of shape (n_trees,) or None
    Learning rate of each tree; None keeps the rate of the tree before or of the options.)")
      .def("trees", &GradientBooster::trees, "Return the trees as arguments of GradientTrees.")
      .def("losses", &GradientBooster::losses,
           "Return the mean held-out loss before the first round and after each one.")
      .def("train_losses", &GradientBooster::train_losses,
           "Return the mean losses of the training rows since watch_training was set.")
      .def("raw", &GradientBooster::raw, arg("best") = true,
           "Return raw predictions of the held-out rows after the best or the last round.")
      .def("set_gradients", &GradientBooster::set_gradients, arg("gradient").noconvert(),
           arg("hessian").noconvert(),
           R"(Set the derivatives of the loss "custom" for the next round.

Parameters
----------
gradient, hessian : float64 arrays of shape (n_train, n_scores)
    First and second derivatives by the raw predictions, multiplied by the weights.)")
      .def("train_raw", &GradientBooster::train_raw,
           "Return a view of the raw predictions of the training rows, which rounds overwrite.")
      .def("held_out_raw", &GradientBooster::held_out_raw,
           "Return a view of the raw predictions of the held-out rows, which rounds overwrite.")
      .def_prop_ro("start", &GradientBooster::start, nb::rv_policy::automatic,
                   "The raw prediction before the first round.")
      .def_prop_rw("large_residual", &GradientBooster::large_residual,
                   &GradientBooster::set_large_residual,
                   "The residual above which Huber's loss is linear; it never increases.")
      .def_prop_ro("best_round", &GradientBooster::best_round,
                   "The number of rounds with the lowest held-out loss.")
      .def_prop_ro("n_rounds", &GradientBooster::n_rounds, "The number of rounds so far.");
}
