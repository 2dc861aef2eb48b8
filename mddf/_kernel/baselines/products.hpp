// Weighted inner products of learners with each other, for QuadBoost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "baselines/vote.hpp"
#include "common/bits.hpp"
#include "common/simd.hpp"

namespace mddf::boosting {

// Predictions as bits, 64 per word: 1 where a learner predicts +1. Unused bits are 0.
struct SignBits {
  std::vector<std::uint64_t> bits;  // n_learners x words
  std::size_t n_learners, n_rows, words;

  SignBits(const std::int8_t* values, std::size_t n_learners, std::size_t n_rows,
           Interrupt& interrupt)
      : bits(n_learners * ((n_rows + 63) / 64)),
        n_learners(n_learners),
        n_rows(n_rows),
        words((n_rows + 63) / 64) {
    for (std::size_t j = 0; j < n_learners; ++j) {
      interrupt.poll(static_cast<std::int64_t>(n_rows));
      const std::int8_t* row = values + j * n_rows;
      std::uint64_t* out = bits.data() + j * words;
      std::size_t i = 0;
      for (; i + 8 <= n_rows; i += 8) {
        out[i / 64] |= positive(row + i, 8) << (i % 64);
      }
      if (i < n_rows) {
        out[i / 64] |= positive(row + i, n_rows - i) << (i % 64);
      }
    }
  }

 private:
  // Bit i: whether value i, -1 or +1, is positive. The eight sign bits are gathered by one
  // multiplication, which moves each to its place in the top byte (the lowest value first on
  // every byte order, as the bytes are put together by shifts).
  MDDF_INLINE static std::uint64_t positive(const std::int8_t* values, std::size_t n) {
    std::uint64_t eight = 0;
    for (std::size_t i = 0; i < n; ++i) {
      eight |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(values[i])) << (8 * i);
    }
    const std::uint64_t negative = (eight >> 7) & 0x0101010101010101ULL;
    const std::uint64_t mask = (std::uint64_t{1} << n) - 1;
    return ~((negative * 0x0102040810204080ULL) >> 56) & mask;
  }
};

// product[j] = share of rows on which learners j and k agree, minus the share on which they differ.
inline void sign_products(const SignBits& signs, std::size_t k, double* product) {
  simd::with_vectors(simd::supported(), [&]() MDDF_INLINED {
    const std::uint64_t* mine = signs.bits.data() + k * signs.words;
    const std::uint64_t* other = signs.bits.data();
    const double n = static_cast<double>(signs.n_rows);
    for (std::size_t j = 0; j < signs.n_learners; ++j, other += signs.words) {
      std::int64_t differ = 0;
      for (std::size_t w = 0; w < signs.words; ++w) {
        differ += count_bits(mine[w] ^ other[w]);
      }
      product[j] = (n - 2.0 * static_cast<double>(differ)) / n;
    }
  });
}

// Inner products of one learner with all learners, made when first asked for. Learners in {-1, +1}
// under equal weights are compared 64 rows at a time.
template <class Value>
class Products {
 public:
  Products(const Products&) = delete;
  Products(const Value* values, std::size_t n_learners, std::size_t n_rows, const double* weight,
           Interrupt& interrupt)
      : interrupt_(interrupt),
        values_(values),
        n_learners_(n_learners),
        n_rows_(n_rows),
        weight_(weight) {
    if constexpr (sizeof(Value) == 1) {
      const bool equal =
          std::all_of(weight, weight + n_rows, [&](double w) { return w == weight[0]; });
      if (equal && all_signs(values, n_learners, n_rows, interrupt)) {
        signs_.emplace_back(values, n_learners, n_rows, interrupt);
      }
    }
  }

  const double* column(std::size_t k) {
    const auto product = kept_.find(k);
    if (product != kept_.end()) {
      return product->second.data();
    }
    if ((kept_.size() + 1) * n_learners_ * sizeof(double) > kMaxBytes) {
      kept_.clear();
    }
    std::vector<double>& column = kept_[k];
    column.resize(n_learners_);
    if (!signs_.empty()) {
      interrupt_.poll(static_cast<std::int64_t>(n_learners_ * (signs_.front().words + 1)));
      sign_products(signs_.front(), k, column.data());
    } else {
      std::vector<double> weighted(n_rows_);
      for (std::size_t i = 0; i < n_rows_; ++i) {
        weighted[i] = weight_[i] * static_cast<double>(values_[k * n_rows_ + i]);
      }
      learner_edges(values_, n_learners_, n_rows_, weighted.data(), column.data(), interrupt_);
    }
    return column.data();
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 28;  // kept between rounds

  Interrupt& interrupt_;
  const Value* values_;
  std::size_t n_learners_, n_rows_;
  const double* weight_;
  std::vector<SignBits> signs_;  // one, or none where the values or weights do not allow it
  std::unordered_map<std::size_t, std::vector<double>> kept_;
};

}  // namespace mddf::boosting
