// The weighted median of numbers that are taken away one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "forest/split/node_values.hpp"

namespace mddf {

// Numbers in order, with weights; the first and the last place hold none.
struct InOrder {
  struct Number {
    int64_t distance;  // from the least of all
    int64_t part;      // the same times the weight, less its last binary digits
    int64_t weight;
  };
  std::vector<Number> numbers;
  int64_t weight = 0, part = 0;  // of all
  int shift = 0;                 // how many digits parts are short of
};

// The median moves by few places where a number goes, so that all of them take a time in
// proportion to their number: they are linked, and need not be searched.
class Middle {
 public:
  // Of all numbers.
  void start(const InOrder& in_order) {
    numbers_ = in_order.numbers.data();
    weight_ = in_order.weight;
    part_ = in_order.part;
    shift_ = in_order.shift;
    const auto n = static_cast<int32_t>(in_order.numbers.size());
    if (static_cast<int32_t>(links_.size()) < n) links_.resize(n);
    for (int32_t i = 0; i < n; ++i) links_[i] = {i - 1, i + 1};
    at_ = 0;
    weight_to_ = part_to_ = 0;
    settle();
  }

  // Takes the number at a place away; settle() is to be called before anything is asked.
  void take(int32_t place) {
    const InOrder::Number& number = numbers_[place];
    const auto [before, after] = links_[place];
    weight_ -= number.weight;
    part_ -= number.part;
    // No branch: on which side of the median it lies is a coin.
    const int64_t is_below = -static_cast<int64_t>(place <= at_);
    weight_to_ -= number.weight & is_below;
    part_to_ -= number.part & is_below;
    if (place == at_) at_ = before;
    links_[before].after = after;
    links_[after].before = before;
  }

  // Finds the median of what is left, which must be something.
  void settle() {
    while (2 * weight_to_ < weight_) {
      at_ = links_[at_].after;
      weight_to_ += numbers_[at_].weight;
      part_to_ += numbers_[at_].part;
    }
    while (2 * (weight_to_ - numbers_[at_].weight) >= weight_) {
      weight_to_ -= numbers_[at_].weight;
      part_to_ -= numbers_[at_].part;
      at_ = links_[at_].before;
    }
  }

  // Sum of the distances from the median, times the weights, in the unit of parts.
  int64_t deviation() const {
    return (part_ - 2 * part_to_) +
           NodeValues<true>::weighted(static_cast<uint64_t>(numbers_[at_].distance),
                                      static_cast<uint64_t>(2 * weight_to_ - weight_), shift_,
                                      false);
  }
  // Of two in the middle, the mean of both.
  double median() const {
    const auto low = static_cast<double>(numbers_[at_].distance);
    if (2 * weight_to_ > weight_) return low;
    return low / 2 + static_cast<double>(numbers_[links_[at_].after].distance) / 2;
  }

 private:
  struct Link {
    int32_t before, after;
  };

  const InOrder::Number* numbers_ = nullptr;
  std::vector<Link> links_;
  int shift_ = 0;
  int32_t at_ = 0;                       // the first with half of the weight up to it
  int64_t weight_ = 0, part_ = 0;        // of what is left
  int64_t weight_to_ = 0, part_to_ = 0;  // and of that up to the median
};

}  // namespace mddf
