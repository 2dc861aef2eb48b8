// Networks of dense layers, fitted by stochastic gradient descent.
#pragma once

#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"

namespace mddf::network {

struct Options {
  int64_t width;     // of each hidden layer
  int64_t n_hidden;  // of these layers
  int64_t n_epochs, batch;
  double rate;     // of learning, at its highest
  double dropout;  // share of the hidden units that a step leaves out
  double decay;    // of the weights, by the rate
  bool are_classes;
  uint64_t seed;
};

struct Rows {
  const float* inputs;   // n x n_inputs
  const float* targets;  // n x n_outputs: shares of classes, or numbers
  const float* weights;  // n, or null; their mean is 1
  int64_t n, n_inputs, n_outputs;
};

// A layer as it is predicted by: n_in x n_out weights and n_out biases.
struct Dense {
  int64_t n_in, n_out;
  std::vector<float> weights, biases;
};

// Minimises the mean log-loss of classes, whose probabilities are softmax, or half the squared
// error of numbers, by Adam (D. Kingma and J. Ba, ICLR 2015). The layers from the first to the
// last.
std::vector<Dense> train(const Rows& rows, const Options& options, Interrupt& interrupt);

// Between layers: x, and below 0 x / (1 - x), whose slope does not jump there.
template <class T>
inline T activation(T x) {
  const T negative = x < 0 ? x : T{0};
  return (x < 0 ? T{0} : x) + negative / (1 - negative);
}

// Its slope, of its value.
template <class T>
inline T slope(T value) {
  const T root = value < 0 ? 1 + value : T{1};
  return root * root;
}

}  // namespace mddf::network
