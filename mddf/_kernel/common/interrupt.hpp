// Whether long work should go on.
#pragma once

#include <cstdint>
#include <exception>

namespace mddf {

// Thrown by work that is to stop.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

// Every long loop says what it has done; now and then that leads to a look at whether to go on. A
// unit of work takes about a nanosecond, up to ten where memory is far away.
class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  virtual ~Watch() = default;

  void worked(int64_t amount) {
    left_ -= amount;
    if (left_ >= 0) return;
    left_ = kBetweenLooks;
    look();
  }

 private:
  // Throws to end the work.
  virtual void look() = 0;

  static constexpr int64_t kBetweenLooks = int64_t{1} << 20;
  int64_t left_ = kBetweenLooks;
};

}  // namespace mddf
