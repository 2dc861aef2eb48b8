// Keeps the weighted median of numbers while they are removed one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "forest/split/node_values.hpp"

namespace mddf {

// Numbers in ascending order with weights. The first and the last place are empty.
struct SortedNumbers {
  struct Number {
    int64_t distance;  // from the lowest number
    int64_t part;      // distance * weight without its last `shift` bits
    int64_t weight;
  };
  std::vector<Number> numbers;
  int64_t weight = 0, part = 0;  // sums of all numbers
  int shift = 0;                 // bits that parts lack
};

// The numbers are a linked list. The median moves by few places when a number is removed, so all
// steps together take time proportional to the number of numbers.
class RunningMedian {
 public:
  // Starts with all numbers.
  void start(const SortedNumbers& sorted) {
    numbers_ = sorted.numbers.data();
    weight_ = sorted.weight;
    part_ = sorted.part;
    shift_ = sorted.shift;
    const auto n = static_cast<int32_t>(sorted.numbers.size());
    if (static_cast<int32_t>(links_.size()) < n) links_.resize(n);
    for (int32_t i = 0; i < n; ++i) links_[i] = {i - 1, i + 1};
    median_place_ = 0;
    weight_to_median_ = part_to_median_ = 0;
    settle();
  }

  // Removes the number at a place. settle() must be called before the median is read.
  void take(int32_t place) {
    const SortedNumbers::Number& number = numbers_[place];
    const auto [before, after] = links_[place];
    weight_ -= number.weight;
    part_ -= number.part;
    // There is no branch, because the side of the median cannot be predicted.
    const int64_t is_below = -static_cast<int64_t>(place <= median_place_);
    weight_to_median_ -= number.weight & is_below;
    part_to_median_ -= number.part & is_below;
    if (place == median_place_) median_place_ = before;
    links_[before].after = after;
    links_[after].before = before;
  }

  // Finds the median of the remaining numbers, of which there must be at least one.
  void settle() {
    while (2 * weight_to_median_ < weight_) {
      median_place_ = links_[median_place_].after;
      weight_to_median_ += numbers_[median_place_].weight;
      part_to_median_ += numbers_[median_place_].part;
    }
    while (2 * (weight_to_median_ - numbers_[median_place_].weight) >= weight_) {
      weight_to_median_ -= numbers_[median_place_].weight;
      part_to_median_ -= numbers_[median_place_].part;
      median_place_ = links_[median_place_].before;
    }
  }

  // Returns the weighted sum of the distances from the median, in the unit of parts.
  int64_t deviation() const {
    return (part_ - 2 * part_to_median_) +
           NodeValues<true>::weighted(static_cast<uint64_t>(numbers_[median_place_].distance),
                                      static_cast<uint64_t>(2 * weight_to_median_ - weight_),
                                      shift_, false);
  }
  // Returns the median; if two numbers are in the middle, their mean.
  double median() const {
    const auto low = static_cast<double>(numbers_[median_place_].distance);
    if (2 * weight_to_median_ > weight_) return low;
    return low / 2 + static_cast<double>(numbers_[links_[median_place_].after].distance) / 2;
  }

 private:
  struct Link {
    int32_t before, after;
  };

  const SortedNumbers::Number* numbers_ = nullptr;
  std::vector<Link> links_;
  int shift_ = 0;
  int32_t median_place_ = 0;       // first place with half of the weight up to it
  int64_t weight_ = 0, part_ = 0;  // sums of the remaining numbers
  int64_t weight_to_median_ = 0, part_to_median_ = 0;  // and of the numbers up to the median
};

}  // namespace mddf
