// Interruption of long loops.
#pragma once

#include <cstdint>
#include <exception>

namespace mddf {

// Thrown by interrupted work.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

// Every long loop calls poll with the amount of work that it has done. After enough work, poll
// checks whether to continue. A unit of work takes about a nanosecond, or up to ten if memory is
// slow.
class Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  virtual ~Interrupt() = default;

  void poll(int64_t work) {
    left_ -= work;
    if (left_ >= 0) return;
    left_ = kBetweenChecks;
    check();
  }

 private:
  // Throws to interrupt the work.
  virtual void check() = 0;

  static constexpr int64_t kBetweenChecks = int64_t{1} << 20;
  int64_t left_ = kBetweenChecks;
};

}  // namespace mddf
