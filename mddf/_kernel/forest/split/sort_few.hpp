// Sorts few codes.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace mddf {

// Most samples that are sorted by ranks; more are sorted by counting. Not tuned.
constexpr int kFewCodes = 32;
// Sample numbers by ascending code. Samples with equal codes keep their order.
using FewInOrder = std::array<int32_t, kFewCodes>;

// Sorts n <= kFewCodes codes. The rank of each is found by comparing all pairs, in a loop that
// compilers turn into vector code.
inline void sort_few(const uint8_t* codes, int n, FewInOrder& order) {
  std::array<int16_t, kFewCodes> key, rank{};
  key.fill(std::numeric_limits<int16_t>::max());
  for (int i = 0; i < n; ++i) key[i] = static_cast<int16_t>(codes[i] * kFewCodes + i);
  if (n <= kFewCodes / 2) {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < kFewCodes / 2; ++i) rank[i] += key[j] < key[i];
  } else {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < kFewCodes; ++i) rank[i] += key[j] < key[i];
  }
  for (int i = 0; i < n; ++i) order[rank[i]] = i;
}

}  // namespace mddf
