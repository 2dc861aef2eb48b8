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

int main() {
  test_packed_sums();
  test_equal_shares();
}
