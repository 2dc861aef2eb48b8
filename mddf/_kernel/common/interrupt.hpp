// Whether long work should go on.
#pragma once

#include <cstdint>
#include <exception>

namespace mddf {

// Thrown by work that is to stop.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

// Every long loop polls with the work that it has done; now and then that leads to a check whether
// to go on. A unit of work takes about a nanosecond, up to ten where memory is far away.
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
  // Throws to end the work.
  virtual void check() = 0;

  static constexpr int64_t kBetweenChecks = int64_t{1} << 20;
  int64_t left_ = kBetweenChecks;
};

}  // namespace mddf
