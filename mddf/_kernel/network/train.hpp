// Networks of dense layers, fitted by stochastic gradient descent.
#pragma once

#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"

namespace mddf::network {

struct Options {
  int64_t width;     // units of each hidden layer
  int64_t n_hidden;  // number of hidden layers
  int64_t n_epochs, batch;
  double rate;     // largest learning rate
  double dropout;  // share of the hidden units that are dropped in a step
  double decay;    // weight decay, as a factor of the learning rate
  bool are_classes;
  uint64_t seed;
};

struct Rows {
  const float* inputs;   // n x n_inputs
  const float* targets;  // n x n_outputs: class probabilities, or numbers
  const float* weights;  // n, or null; their mean is 1
  int64_t n, n_inputs, n_outputs;
};

// A trained layer: n_in x n_out weights and n_out biases.
struct Dense {
  int64_t n_in, n_out;
  std::vector<float> weights, biases;
};

// Minimises the mean log-loss of softmax, or half of the mean squared error, by Adam (D. Kingma and
// J. Ba, ICLR 2015). Returns the layers from the first to the last.
std::vector<Dense> train(const Rows& rows, const Options& options, Interrupt& interrupt);

// A layer in the memory of the caller: n_in x n_out weights and n_out biases.
struct LayerView {
  int64_t n_in, n_out;
  const float *weights, *biases;
};

// Fills n x n_out outputs of a layer from n x n_in inputs. Each row is computed independently of
// the others.
void apply(const LayerView& layer, const double* inputs, int64_t n, bool activates, double* outputs,
           Interrupt& interrupt);

// Activation function: x for x >= 0, and x / (1 - x) below, with a continuous derivative.
template <class T>
inline T activation(T x) {
  const T negative = x < 0 ? x : T{0};
  return (x < 0 ? T{0} : x) + negative / (1 - negative);
}

// Derivative of the activation function, from its value.
template <class T>
inline T slope(T value) {
  const T root = value < 0 ? 1 + value : T{1};
  return root * root;
}

}  // namespace mddf::network
