#include "network/train.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/call.hpp"

namespace mddf {
namespace {

using nb::arg;

// Keeps the number of steps countable.
constexpr int64_t kMaxEpochs = int64_t{1} << 20;

void check_between(const char* name, double got, double least, double most) {
  if (!(got >= least && got <= most))
    refuse(std::string(name) + ": expected a number from " + std::to_string(least) + " to " +
           std::to_string(most) + ", got " + std::to_string(got));
}

// Checks shapes and options first, because the values are read by the shapes.
void check_training(const In<float, 2>& inputs, const In<float, 2>& targets,
                    const std::optional<In<float, 1>>& weights, const network::Options& options) {
  check_at_least("rows of inputs", static_cast<int64_t>(inputs.shape(0)), 1);
  check_at_least("columns of inputs", static_cast<int64_t>(inputs.shape(1)), 1);
  check_length("targets", targets.shape(0), inputs.shape(0));
  check_at_least("columns of targets", static_cast<int64_t>(targets.shape(1)), 1);
  if (weights) check_length("weights", weights->shape(0), inputs.shape(0));
  check_range("width", options.width, 1, 4096);
  check_range("n_hidden", options.n_hidden, 1, 16);
  check_range("n_epochs", options.n_epochs, 1, kMaxEpochs);
  check_at_least("batch", options.batch, 1);
  check_between("rate", options.rate, 0, 100);
  check_between("dropout", options.dropout, 0, 0.9);
  check_between("decay", options.decay, 0, 100);
  check_finite("inputs", inputs);
  check_finite("targets", targets);
  if (weights)
    check_each("weights", *weights, "finite numbers from 0 on",
               [](float weight) { return weight >= 0 && std::isfinite(weight); });
}

nb::typed<nb::list, nb::typed<nb::tuple, Out<float, 2>, Out<float, 1>>> train_network(
    In<float, 2> inputs, In<float, 2> targets, const std::optional<In<float, 1>>& weights,
    int64_t width, int64_t n_hidden, int64_t n_epochs, int64_t batch, double rate, double dropout,
    double decay, bool are_classes, uint64_t seed) {
  const network::Options options{width,   n_hidden, n_epochs,    batch, rate,
                                 dropout, decay,    are_classes, seed};
  check_training(inputs, targets, weights, options);
  const network::Rows rows{inputs.data(),
                           targets.data(),
                           data_or_null(weights),
                           static_cast<int64_t>(inputs.shape(0)),
                           static_cast<int64_t>(inputs.shape(1)),
                           static_cast<int64_t>(targets.shape(1))};
  auto layers = without_gil(
      nullptr, [&](Interrupt& interrupt) { return network::train(rows, options, interrupt); });
  nb::list outputs;
  for (network::Dense& layer : layers) {
    const auto n_in = static_cast<size_t>(layer.n_in), n_out = static_cast<size_t>(layer.n_out);
    outputs.append(nb::make_tuple(to_numpy<float, 2>(std::move(layer.weights), {n_in, n_out}),
                                  to_numpy(std::move(layer.biases))));
  }
  return outputs;
}

Out<double, 2> dense_layer(In<double, 2> inputs, In<float, 2> weights, In<float, 1> biases,
                           bool activate) {
  check_at_least("columns of inputs", static_cast<int64_t>(inputs.shape(1)), 1);
  check_length("weights", weights.shape(0), inputs.shape(1));
  check_length("biases", biases.shape(0), weights.shape(1));
  const auto n = static_cast<int64_t>(inputs.shape(0));
  const auto n_in = static_cast<int64_t>(weights.shape(0));
  const auto n_out = static_cast<int64_t>(weights.shape(1));
  const network::LayerView layer{n_in, n_out, weights.data(), biases.data()};
  std::vector<double> outputs(n * n_out);
  without_gil(nullptr, [&](Interrupt& interrupt) {
    network::apply(layer, inputs.data(), n, activate, outputs.data(), interrupt);
  });
  return to_numpy<double, 2>(std::move(outputs),
                             {static_cast<size_t>(n), static_cast<size_t>(n_out)});
}

}  // namespace
}  // namespace mddf

void bind_network(nanobind::module_& m) {
  using namespace mddf;
  m.def("train_network", &train_network, arg("inputs").noconvert(), arg("targets").noconvert(),
        arg("weights").noconvert().none(), arg("width"), arg("n_hidden"), arg("n_epochs"),
        arg("batch"), arg("rate"), arg("dropout"), arg("decay"), arg("are_classes"), arg("seed"),
        R"(Fit a network of dense layers; the same bits on every processor.

Parameters
----------
inputs : float32 array of shape (n, n_inputs)
targets : float32 array of shape (n, n_outputs)
    Class probabilities, or regression targets.
weights : float32 array of shape (n,) or None
    Non-negative, with mean 1.
width, n_hidden : int
    Units of each hidden layer, and number of hidden layers.
n_epochs, batch : int
    Number of passes over the rows, and rows of a step.
rate : float
    Largest learning rate.
dropout : float
    Share of the hidden units that a step drops.
decay : float
    Weight decay.
are_classes : bool
    Whether to minimise the log-loss of the softmax instead of the squared error.
seed : int

Returns
-------
list of (weights, biases)
    For each layer, float32 arrays of shapes (n_in, n_out) and (n_out,).)");
  m.def("dense_layer", &dense_layer, arg("inputs").noconvert(), arg("weights").noconvert(),
        arg("biases").noconvert(), arg("activate"),
        R"(Return the outputs of a layer. Each row is computed independently of the others.

Parameters
----------
inputs : float64 array of shape (n, n_in)
weights : float32 array of shape (n_in, n_out)
biases : float32 array of shape (n_out,)
activate : bool
    Whether to apply the activation function: sums below 0 become sum / (1 - sum).)");
}
