// Priority queue of the nodes that may be split, by the gain of their splits.
#pragma once

#include <algorithm>
#include <vector>

namespace mddf {

// `Candidate` has a gain and an index(). If gains are equal, the lower index comes first.
template <class Candidate>
class Frontier {
 public:
  void clear() { heap_.clear(); }
  bool empty() const { return heap_.empty(); }
  const std::vector<Candidate>& all() const { return heap_; }

  void push(const Candidate& candidate) {
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), comes_later);
  }
  Candidate pop() {
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    const Candidate best = heap_.back();
    heap_.pop_back();
    return best;
  }

 private:
  static bool comes_later(const Candidate& a, const Candidate& b) {
    return a.gain != b.gain ? a.gain < b.gain : a.index() > b.index();
  }

  std::vector<Candidate> heap_;
};

}  // namespace mddf
