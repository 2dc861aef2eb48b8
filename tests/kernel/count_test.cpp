// Tests of counting rows into histograms, which Python does not see. Run by test_cpp.py.
#include <cstdio>
#include <cstdlib>

#include "gradient_boosting/count.hpp"

using namespace mddf::gradient;

#define CHECK(holds) \
  if (!(holds)) std::printf("line %d: %s\n", __LINE__, #holds), std::exit(1)

// Two sums in one number of 64 bits: negative gradients borrow from the hessian and give it back.
void test_packed_sums() {
  Packed<2> sum{};
  int32_t gradient = 0, hessian = 0;
  for (int i = 0; i < 1000; ++i) {
    Sums<2> row;
    row.of[0] = (i * 7919) % 2001 - 1500;
    row.of[1] = i % 5;
    gradient += row.of[0];
    hessian += row.of[1];
    sum.add(Packed<2>(row));
  }
  CHECK(sum.sums().of[0] == gradient && gradient < 0);
  CHECK(sum.sums().of[1] == hessian);
}

// Sixteen threads get equal shares of 20 columns, which are three passes, and all rows are counted.
void test_equal_shares() {
  using Counter = HistogramCounter<2>;
  constexpr int kThreads = 16;
  constexpr int64_t kRows = 1000003, kPasses = 3;
  for (const int64_t second : {int64_t{0}, kRows / 3}) {
    std::vector<Counter::Task> tasks{{{nullptr, nullptr, kRows - second}, nullptr}};
    if (second > 0) tasks.push_back({{nullptr, nullptr, second}, nullptr});
    const std::vector<Counter::Part> parts = Counter::parts_of(tasks, kPasses, kThreads);
    const auto n = static_cast<int64_t>(parts.size()) * kPasses;
    int64_t most = 0, total = 0;
    for (int t = 0; t < kThreads; ++t) {  // as in Team::run
      int64_t rows = 0;
      for (int64_t i = n * t / kThreads; i < n * (t + 1) / kThreads; ++i)
        rows += parts[i / kPasses].last - parts[i / kPasses].first;
      most = std::max(most, rows);
      total += rows;
    }
    CHECK(total == kRows * kPasses);
    CHECK(static_cast<double>(most) * kThreads < 1.1 * static_cast<double>(total));
  }
}

// Two columns whose rows have at most one unusual code are one bundle, with a code for each unusual
// code. The next column has such a code in a row of the second one; the last has no usual code.
void test_bundles() {
  constexpr int64_t kRows = 70, kColumns = 4;
  uint8_t codes[kColumns][kRows] = {};
  codes[0][5] = 1;
  codes[0][66] = 2;
  std::fill_n(codes[1], kRows, uint8_t{2});
  codes[1][6] = 0;
  codes[1][69] = 3;
  codes[2][69] = 1;
  for (int64_t i = 0; i < kRows; ++i) codes[3][i] = static_cast<uint8_t>(i % 3);
  const int64_t start[] = {0, 2, 5, 6, 9};
  struct Never : mddf::Interrupt {
    void check() override {}
  } interrupt;
  const Bundles bundles(codes[0], kRows, {nullptr, nullptr, start, nullptr, kColumns}, interrupt);
  CHECK(bundles.count() == 3);
  CHECK(bundles[0].number == 0 && bundles[1].number == 0 && bundles[2].number == 1);
  CHECK(bundles[0].code_of(0) == 0 && bundles[0].code_of(1) == 1 && bundles[0].code_of(2) == 2);
  CHECK(bundles[1].code_of(2) == 0 && bundles[1].code_of(0) == 3 && bundles[1].code_of(3) == 5);
  CHECK(bundles.n_codes(0) == 6);
  CHECK(bundles[2].usual == InBundle::kNone && bundles[3].usual == InBundle::kNone);
}

int main() {
  test_bundles();
  test_packed_sums();
  test_equal_shares();
}
