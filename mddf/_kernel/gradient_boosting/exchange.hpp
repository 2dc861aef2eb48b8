// Sums over the rows of a table whose rows are divided among several processes.
//
// Every process boosts on its own shard of the rows. Whatever depends on all rows is a sum of
// whole numbers or a maximum, which is the same in any order, or a sum of doubles in the order of
// the rows (`in_row_order`). All processes therefore hold the same numbers, take the same
// decisions and grow the same trees, with the same bits as one process that has all rows. They
// make the same calls in the same order.
#pragma once

#include <cstdint>
#include <vector>

namespace mddf::gradient {

class Exchange {
 public:
  virtual ~Exchange() = default;
  // Replaces numbers by their sums over all shards, or by their maxima.
  virtual void sum(int32_t* numbers, int64_t n) = 0;
  virtual void sum(double* numbers, int64_t n) = 0;
  virtual void max(double* numbers, int64_t n) = 0;
  // Both in one message.
  virtual void sum_and_max(double* sums, int64_t n_sums, double* maxima, int64_t n_maxima) = 0;
  // Replaces numbers by the numbers that the shard with the rows before has passed on; does not
  // change those of the first shard.
  virtual void receive(double* numbers, int64_t n) = 0;
  // Passes numbers on to the shard with the rows after. The numbers of the last shard are then
  // the result on all shards.
  virtual void pass_on(double* numbers, int64_t n) = 0;
};

// The shards of a table, of which this process has one. Without an exchange, it has all rows.
class Shards {
 public:
  Shards() = default;
  explicit Shards(Exchange* exchange) : exchange_(exchange) {}

  bool are_several() const { return exchange_ != nullptr; }

  template <class Number>
  void sum(Number* numbers, int64_t n) const {
    if (exchange_ && n > 0) exchange_->sum(numbers, n);
  }
  template <class Number>
  void sum(std::vector<Number>& numbers) const {
    sum(numbers.data(), static_cast<int64_t>(numbers.size()));
  }
  double sum(double number) const {
    sum(&number, 1);
    return number;
  }
  void max(double* numbers, int64_t n) const {
    if (exchange_ && n > 0) exchange_->max(numbers, n);
  }
  double max(double number) const {
    max(&number, 1);
    return number;
  }
  void sum_and_max(double* sums, int64_t n_sums, double* maxima, int64_t n_maxima) const {
    if (exchange_) exchange_->sum_and_max(sums, n_sums, maxima, n_maxima);
  }
  // Calls add(numbers), which continues sums over the rows before, on each shard in turn.
  template <class Add>
  void in_row_order(double* numbers, int64_t n, Add add) const {
    if (exchange_) exchange_->receive(numbers, n);
    add(numbers);
    if (exchange_) exchange_->pass_on(numbers, n);
  }

 private:
  Exchange* exchange_ = nullptr;
};

}  // namespace mddf::gradient
