// Threads that share the work of one call.
#pragma once

#include <cstdint>

namespace mddf::gradient {

// Does pieces of work that do not depend on each other: here one after the other.
class Team {
 public:
  virtual ~Team() = default;
  // Calls work(i) for all i below n.
  template <class Work>
  void each(int64_t n, Work work) {
    using Given = Work;
    run(n, [](void* given, int64_t i) { (*static_cast<Given*>(given))(i); }, &work);
  }

 protected:
  using Piece = void (*)(void*, int64_t);
  virtual void run(int64_t n, Piece piece, void* given) {
    for (int64_t i = 0; i < n; ++i) piece(given, i);
  }
};

}  // namespace mddf::gradient
