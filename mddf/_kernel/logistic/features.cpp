#include "logistic/features.hpp"

#include <algorithm>
#include <cmath>

#include "common/product.hpp"
#include "common/simd.hpp"

namespace mddf::logistic {
namespace {

// Columns that are computed together. Earlier columns are subtracted by a matrix product.
constexpr int64_t kPanel = matrix::kLanes;
constexpr int64_t kRows = 256;  // rows of a block; not tuned

// Solves rows * root' = kernel for some columns from `first` on, of n rows with stride m. Earlier
// columns are solved. `negative` holds -root' of these columns by earlier columns.
template <bool kIsWide>
MDDF_INLINE void solve_panel(const double* negative, const double* root, int64_t first, int64_t m,
                             const double* kernel, int64_t n, double* rows) {
  const int64_t width = std::min(kPanel, m - first);
  double panel[kRows * kPanel];
  for (int64_t i = 0; i < n; ++i) {
    std::copy_n(kernel + i * m + first, width, panel + i * kPanel);
    std::fill(panel + i * kPanel + width, panel + (i + 1) * kPanel, 0.0);
  }
  matrix::add_product<kIsWide>(matrix::Factors<double>{rows, m, 1}, negative, kPanel, n, first,
                               kPanel, panel, kPanel);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < width; ++j) {
      const double* root_row = root + (first + j) * m + first;
      double sum = panel[i * kPanel + j];
      for (int64_t k = 0; k < j; ++k) sum -= panel[i * kPanel + k] * root_row[k];
      panel[i * kPanel + j] = sum / root_row[j];
      rows[i * m + first + j] = panel[i * kPanel + j];
    }
}

// -root' of the columns of a panel by the columns before it: first x kPanel.
std::vector<double> negative_panel(const std::vector<double>& root, int64_t first, int64_t m) {
  std::vector<double> negative(first * kPanel);
  const int64_t width = std::min(kPanel, m - first);
  for (int64_t k = 0; k < first; ++k)
    for (int64_t j = 0; j < width; ++j) negative[k * kPanel + j] = -root[(first + j) * m + k];
  return negative;
}

// Cholesky factor of the kernel of the first m rows.
std::vector<double> cholesky(const double* kernel, int64_t m, double jitter, Interrupt& interrupt) {
  std::vector<double> root(m * m, 0.0);
  for (int64_t i = 0; i < m; ++i) {
    double* row = root.data() + i * m;
    for (int64_t j = 0; j <= i; ++j) {
      const double* other = root.data() + j * m;
      double sum = kernel[i * m + j] + (i == j ? jitter : 0.0);
      for (int64_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      // Pivots are at least the jitter, up to rounding errors.
      row[j] = i == j ? std::sqrt(std::max(sum, 0.5 * jitter)) : sum / other[j];
    }
    interrupt.poll(i * i / 2 + 1);
  }
  return root;
}

}  // namespace

Features features(const double* kernel, int64_t n, int64_t m, double jitter, Interrupt& interrupt) {
  Features result{std::vector<double>(n * m), cholesky(kernel, m, jitter, interrupt)};
  for (int64_t first = 0; first < m; first += kPanel) {
    const std::vector<double> negative = negative_panel(result.root, first, m);
    for (int64_t start = 0; start < n; start += kRows) {
      const int64_t n_rows = std::min(kRows, n - start);
      simd::with_width([&](auto is_wide) MDDF_INLINED {
        solve_panel<decltype(is_wide)::value>(negative.data(), result.root.data(), first, m,
                                              kernel + start * m, n_rows,
                                              result.values.data() + start * m);
      });
      interrupt.poll(n_rows * (first + kPanel) * kPanel / 4);
    }
  }
  return result;
}

std::vector<double> solve_transposed(const double* root, const double* b, int64_t m) {
  std::vector<double> x(b, b + m);
  for (int64_t i = m - 1; i >= 0; --i) {
    const double* row = root + i * m;
    x[i] /= row[i];
    for (int64_t k = 0; k < i; ++k) x[k] -= x[i] * row[k];
  }
  return x;
}

}  // namespace mddf::logistic
