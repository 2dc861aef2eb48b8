#include "network/train.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/elementary.hpp"
#include "common/product.hpp"
#include "common/random.hpp"
#include "common/simd.hpp"

namespace mddf::network {
namespace {

constexpr float kFirstMoment = 0.9f, kSecondMoment = 0.95f, kLeastRoot = 1e-8f;
// The learning rate rises during this share of the steps and falls afterwards. Not tuned.
constexpr double kRising = 0.1;
// Learning rates of the kinds of parameters, as factors of the rate of the weights of a layer with
// one input.
constexpr float kRateOfBiases = 0.1f, kRateOfScales = 6.0f;
constexpr double kSpreadOfBiases = 0.5;
constexpr double kLeastShare = 1e-6;  // least share of a class in the initial biases
constexpr double kRoot3 = 0x1.bb67ae8584caap+0;

// Random number with mean 0 and standard deviation 1.
double drawn(Random& random) { return (2 * random.uniform() - 1) * kRoot3; }

// Parameters with their gradients and the moments of Adam.
struct Parameters {
  explicit Parameters(int64_t n) : values(n), gradient(n), mean(n), square(n) {}
  std::vector<float> values, gradient, mean, square;

  MDDF_INLINE void step(float rate, float decay, float of_mean, float of_square) {
    float *value = values.data(), *m = mean.data(), *v = square.data();
    const float* g = gradient.data();
    const float kept = 1 - rate * decay;
    const auto n = static_cast<int64_t>(values.size());
    for (int64_t i = 0; i < n; ++i) {
      m[i] = kFirstMoment * m[i] + (1 - kFirstMoment) * g[i];
      v[i] = kSecondMoment * v[i] + (1 - kSecondMoment) * (g[i] * g[i]);
      const float root = std::sqrt(v[i] * of_square) + kLeastRoot;
      value[i] = kept * value[i] - rate * (m[i] * of_mean / root);
    }
  }
};

// A layer during training. Rows of its matrices are padded with zeros to whole vectors.
struct Layer {
  Layer(int64_t n_in, int64_t n_out)
      : n_in(n_in),
        n_out(n_out),
        in(matrix::padded(n_in)),
        out(matrix::padded(n_out)),
        weights(n_in * out),
        biases(out),
        turned(out * in) {}

  void draw(Random& random) {
    const double spread = 1 / std::sqrt(static_cast<double>(n_in));
    for (int64_t i = 0; i < n_in; ++i)
      for (int64_t j = 0; j < n_out; ++j)
        weights.values[i * out + j] = static_cast<float>(spread * drawn(random));
    for (int64_t j = 0; j < n_out; ++j)
      biases.values[j] = static_cast<float>(kSpreadOfBiases * drawn(random));
  }

  // Writes the weighted sums of n rows of inputs for each unit.
  template <bool kIsWide>
  MDDF_INLINE void forward(const float* inputs, int64_t n, const float* used, float* sums) const {
    for (int64_t i = 0; i < n; ++i)
      std::copy(biases.values.begin(), biases.values.end(), sums + i * out);
    matrix::add_product<kIsWide>(matrix::Factors<float>{inputs, in, 1}, used, out, n, n_in, out,
                                 sums, out);
  }

  // Computes the gradients by weights, biases and inputs from the gradients by the sums of n rows.
  template <bool kIsWide>
  MDDF_INLINE void backward(const float* inputs, const float* by_sums, int64_t n,
                            float* by_inputs) {
    float* of_biases = biases.gradient.data();
    std::fill(of_biases, of_biases + out, 0.0f);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < out; ++j) of_biases[j] += by_sums[i * out + j];
    std::fill(weights.gradient.begin(), weights.gradient.end(), 0.0f);
    matrix::add_product<kIsWide>(matrix::Factors<float>{inputs, 1, in}, by_sums, out, n_in, n, out,
                                 weights.gradient.data(), out);
    if (by_inputs == nullptr) return;
    for (int64_t i = 0; i < n_in; ++i)
      for (int64_t j = 0; j < out; ++j) turned[j * in + i] = weights.values[i * out + j];
    std::fill(by_inputs, by_inputs + n * in, 0.0f);
    matrix::add_product<kIsWide>(matrix::Factors<float>{by_sums, out, 1}, turned.data(), in, n,
                                 n_out, in, by_inputs, in);
  }

  const int64_t n_in, n_out, in, out;
  Parameters weights, biases;
  std::vector<float> turned;  // transposed weights, n_out x n_in
};

class Trainer {
 public:
  Trainer(const Rows& rows, const Options& options)
      : rows_(rows),
        options_(options),
        batch_(std::min(options.batch, rows.n)),
        random_(options.seed),
        scales_(rows.n_inputs) {
    int64_t n_in = rows.n_inputs;
    for (int64_t i = 0; i < options.n_hidden; ++i) {
      layers_.emplace_back(n_in, options.width);
      layers_.back().draw(random_);
      n_in = options.width;
    }
    layers_.emplace_back(n_in, rows.n_outputs);  // its initial output is the same for all rows
    if (options.are_classes) start_at_shares(layers_.back());
    std::fill(scales_.values.begin(), scales_.values.end(), 1.0f);
    for (const Layer& layer : layers_) {
      inputs_.emplace_back(batch_ * layer.in);
      sums_.emplace_back(batch_ * layer.out);
    }
    scaled_.resize(layers_[0].weights.values.size());
    n_kept_ = 256 - static_cast<int>(std::lround(options.dropout * 256));
    if (n_kept_ < 256) drawn_.resize(sums_[0].size());
  }

  std::vector<Dense> run(Interrupt& interrupt) {
    std::vector<int64_t> order(rows_.n);
    std::iota(order.begin(), order.end(), int64_t{0});
    int64_t n_parameters = 0;
    for (const Layer& layer : layers_) n_parameters += layer.in * layer.out;
    const int64_t n_batches = rows_.n / batch_, n_steps = options_.n_epochs * n_batches;
    double mean_left = 1, square_left = 1;
    for (int64_t step = 0; step < n_steps; ++step) {
      if (step % n_batches == 0)
        for (int64_t i = rows_.n - 1; i > 0; --i)
          std::swap(order[i], order[random_.below(static_cast<uint64_t>(i + 1))]);
      mean_left *= kFirstMoment;
      square_left *= kSecondMoment;
      const double done = static_cast<double>(step) / static_cast<double>(n_steps);
      const double share = std::min(done / kRising, (1 - done) / (1 - kRising));
      of_mean_ = static_cast<float>(1 / (1 - mean_left));
      of_square_ = static_cast<float>(1 / (1 - square_left));
      rate_ = static_cast<float>(options_.rate * share);
      const int64_t* some = order.data() + step % n_batches * batch_;
      simd::with_width([&](auto is_wide)
                           MDDF_INLINED { take_step<decltype(is_wide)::value>(some); });
      interrupt.poll(batch_ * n_parameters / 4);
    }
    return fitted();
  }

 private:
  void start_at_shares(Layer& last) const {
    for (int64_t j = 0; j < rows_.n_outputs; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < rows_.n; ++i)
        sum += static_cast<double>(rows_.targets[i * rows_.n_outputs + j]) * weight(i);
      const double share = std::max(sum / static_cast<double>(rows_.n), kLeastShare);
      last.biases.values[j] = static_cast<float>(logarithm(share));
    }
  }

  float weight(int64_t row) const { return rows_.weights == nullptr ? 1.0f : rows_.weights[row]; }

  template <bool kIsWide>
  MDDF_INLINE void take_step(const int64_t* some) {
    Layer& first = layers_[0];
    for (int64_t i = 0; i < first.n_in; ++i)
      for (int64_t j = 0; j < first.out; ++j)
        scaled_[i * first.out + j] = scales_.values[i] * first.weights.values[i * first.out + j];
    for (int64_t i = 0; i < batch_; ++i)
      std::copy_n(rows_.inputs + some[i] * rows_.n_inputs, rows_.n_inputs,
                  inputs_[0].data() + i * first.in);
    for (size_t l = 0; l < layers_.size(); ++l) {
      const float* used = l == 0 ? scaled_.data() : layers_[l].weights.values.data();
      layers_[l].template forward<kIsWide>(inputs_[l].data(), batch_, used, sums_[l].data());
      if (l + 1 < layers_.size()) activate(sums_[l], inputs_[l + 1]);
    }
    by_outputs(some, sums_.back());
    for (size_t l = layers_.size(); l-- > 0;) {
      float* by_inputs = nullptr;
      if (l > 0) {
        by_inputs_.resize(batch_ * layers_[l].in);
        by_inputs = by_inputs_.data();
      }
      layers_[l].template backward<kIsWide>(inputs_[l].data(), sums_[l].data(), batch_, by_inputs);
      if (l > 0) by_sums(sums_[l - 1]);
    }
    by_scales(first);
    const auto decay = static_cast<float>(options_.decay);
    scales_.step(kRateOfScales * rate_, 0.0f, of_mean_, of_square_);
    for (Layer& layer : layers_) {
      const float rate = rate_ / std::sqrt(static_cast<float>(layer.n_in));
      layer.weights.step(rate, decay, of_mean_, of_square_);
      layer.biases.step(kRateOfBiases * rate_, 0.0f, of_mean_, of_square_);
    }
  }

  // Computes the input of the next layer, and replaces the sums by factors of the gradients, which
  // are 0 for dropped units.
  MDDF_INLINE void activate(std::vector<float>& sums, std::vector<float>& inputs) {
    const auto n = static_cast<int64_t>(sums.size());
    const float scale = 256.0f / static_cast<float>(n_kept_);
    float *sum = sums.data(), *input = inputs.data();
    if (n_kept_ == 256) {
      for (int64_t i = 0; i < n; ++i) {
        input[i] = activation(sum[i]);
        sum[i] = slope(input[i]);
      }
      return;
    }
    draw_bytes();
    const uint8_t* drawn = drawn_.data();
    const int n_kept = n_kept_;
    for (int64_t i = 0; i < n; ++i) {
      const float factor = static_cast<int>(drawn[i]) < n_kept ? scale : 0.0f;
      const float value = activation(sum[i]);
      input[i] = factor * value;
      sum[i] = factor * slope(value);
    }
  }

  // Draws eight bytes from each random number.
  void draw_bytes() {
    Random random = random_;  // a local copy, since bytes could alias the member
    const auto n = static_cast<int64_t>(drawn_.size());  // a multiple of matrix::kLanes
    uint8_t* drawn = drawn_.data();
    for (int64_t first = 0; first < n; first += 8) {
      const uint64_t bits = random.next();
      for (int k = 0; k < 8; ++k) drawn[first + k] = static_cast<uint8_t>(bits >> (8 * k));
    }
    random_ = random;
  }

  // Replaces the sums of the last layer by the gradients of the loss.
  void by_outputs(const int64_t* some, std::vector<float>& sums) {
    const Layer& last = layers_.back();
    powers_.resize(last.n_out);
    for (int64_t i = 0; i < batch_; ++i) {
      float* sum = sums.data() + i * last.out;
      const float* target = rows_.targets + some[i] * last.n_out;
      const float share = weight(some[i]) / static_cast<float>(batch_);
      if (options_.are_classes) {
        const double most = *std::max_element(sum, sum + last.n_out);
        double total = 0;
        for (int64_t j = 0; j < last.n_out; ++j)
          total += powers_[j] = exponential(static_cast<double>(sum[j]) - most);
        for (int64_t j = 0; j < last.n_out; ++j) sum[j] = static_cast<float>(powers_[j] / total);
      }
      for (int64_t j = 0; j < last.n_out; ++j) sum[j] = (sum[j] - target[j]) * share;
      std::fill(sum + last.n_out, sum + last.out, 0.0f);
    }
  }

  // Multiplies gradients by the factors of a hidden layer.
  MDDF_INLINE void by_sums(std::vector<float>& factors) const {
    const auto n = static_cast<int64_t>(factors.size());
    const float* gradient = by_inputs_.data();
    float* factor = factors.data();
    for (int64_t i = 0; i < n; ++i) factor[i] *= gradient[i];
  }

  // Computes the gradients by the scales and the unscaled weights from those by the scaled weights.
  MDDF_INLINE void by_scales(Layer& first) {
    for (int64_t i = 0; i < first.n_in; ++i) {
      float* gradient = first.weights.gradient.data() + i * first.out;
      const float* value = first.weights.values.data() + i * first.out;
      float sum = 0;
      for (int64_t j = 0; j < first.out; ++j) {
        sum += gradient[j] * value[j];
        gradient[j] *= scales_.values[i];
      }
      scales_.gradient[i] = sum;
    }
  }

  std::vector<Dense> fitted() const {
    std::vector<Dense> layers;
    for (size_t l = 0; l < layers_.size(); ++l) {
      const Layer& layer = layers_[l];
      Dense dense{layer.n_in, layer.n_out, {}, {}};
      for (int64_t i = 0; i < layer.n_in; ++i)
        for (int64_t j = 0; j < layer.n_out; ++j)
          dense.weights.push_back(layer.weights.values[i * layer.out + j] *
                                  (l == 0 ? scales_.values[i] : 1.0f));
      dense.biases.assign(layer.biases.values.begin(), layer.biases.values.begin() + layer.n_out);
      layers.push_back(std::move(dense));
    }
    return layers;
  }

  const Rows& rows_;
  const Options& options_;
  const int64_t batch_;
  Random random_;
  std::vector<Layer> layers_;
  Parameters scales_;                              // scales of the inputs
  std::vector<float> scaled_;                      // scaled weights of the first layer
  std::vector<std::vector<float>> inputs_, sums_;  // inputs and sums of each layer for a batch
  std::vector<float> by_inputs_;
  std::vector<uint8_t> drawn_;  // random bytes for the units of a layer and a batch
  std::vector<double> powers_;
  float rate_ = 0, of_mean_ = 1, of_square_ = 1;
  int n_kept_ = 256;  // a unit is kept if its random byte is below this number
};

}  // namespace

std::vector<Dense> train(const Rows& rows, const Options& options, Interrupt& interrupt) {
  return Trainer(rows, options).run(interrupt);
}

void apply(const LayerView& layer, const double* inputs, int64_t n, bool activates, double* outputs,
           Interrupt& interrupt) {
  constexpr int64_t kRows = 64;  // rows at a time, whose sums stay in the cache; not tuned
  const int64_t n_in = layer.n_in, n_out = layer.n_out, out = matrix::padded(n_out);
  std::vector<double> weights(n_in * out), sums(kRows * out);
  for (int64_t i = 0; i < n_in; ++i)
    std::copy_n(layer.weights + i * n_out, n_out, weights.data() + i * out);
  for (int64_t first = 0; first < n; first += kRows) {
    const int64_t n_rows = std::min(kRows, n - first);
    for (int64_t i = 0; i < n_rows; ++i) std::copy_n(layer.biases, n_out, sums.data() + i * out);
    const matrix::Factors<double> rows{inputs + first * n_in, n_in, 1};
    simd::with_width([&](auto is_wide) MDDF_INLINED {
      matrix::add_product<decltype(is_wide)::value>(rows, weights.data(), out, n_rows, n_in, out,
                                                    sums.data(), out);
    });
    for (int64_t i = 0; i < n_rows; ++i)
      for (int64_t j = 0; j < n_out; ++j) {
        const double sum = sums[i * out + j];
        outputs[(first + i) * n_out + j] = activates ? activation(sum) : sum;
      }
    interrupt.poll(n_rows * n_in * out / 8 + 1);
  }
}

}  // namespace mddf::network
