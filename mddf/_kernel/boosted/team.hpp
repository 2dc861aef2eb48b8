// Threads that share the work of one call.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "common/interrupt.hpp"

namespace mddf::gradient {

// Does pieces of work that do not depend on each other: one after the other, and with those threads
// that help.
class Team {
 public:
  explicit Team(int n_threads = 1) : n_threads_(n_threads) {}
  Team(const Team&) = delete;

  // How many threads work, if all helpers come.
  int n_threads() const { return n_threads_; }

  // Calls work(i) for all i below n.
  template <class Work>
  void each(int64_t n, Work work) {
    if (n_threads_ == 1 || n < 2) {
      for (int64_t i = 0; i < n; ++i) work(i);
      return;
    }
    run(n, [](void* given, int64_t i) { (*static_cast<Work*>(given))(i); }, &work);
  }

  // How many ranges [0, n) is cut into: one for each thread, if these are not short.
  int64_t n_ranges(int64_t n, int64_t least) const {
    return n < 2 * least ? 1 : std::min<int64_t>(n_threads_, n / least);
  }
  // Calls work(first, last) for each of them.
  template <class Work>
  void ranges(int64_t n, int64_t least, Work work) {
    const int64_t n_ranges = this->n_ranges(n, least);
    each(n_ranges, [&](int64_t i) { work(n * i / n_ranges, n * (i + 1) / n_ranges); });
  }

  // Helps until the team is closed, and returns how many pieces it did. Of another thread.
  int64_t help(Interrupt& interrupt) {
    uint64_t seen = 0;
    int64_t n_done = 0;
    while (true) {
      spin([&] { return posted_.load(std::memory_order_acquire) != seen; });
      std::unique_lock<std::mutex> lock(mutex_);
      if (is_closed_) return n_done;
      if (posted_ == seen) {
        if (changed_.wait_for(lock, kPatience, [&] { return posted_ != seen; })) continue;
        lock.unlock();
        look(interrupt);
        continue;
      }
      seen = posted_;
      if (!has_work_) continue;  // all done before
      ++n_helping_;
      lock.unlock();
      n_done += take_pieces();
      lock.lock();
      if (--n_helping_ == 0) done_.notify_one();
      lock.unlock();
      look(interrupt);  // signals come to the main thread, which may be the one that helps
    }
  }

  void close() {
    std::lock_guard<std::mutex> lock(mutex_);
    is_closed_ = true;
    ++posted_;
    changed_.notify_all();
  }

 private:
  // Waits a little without giving the processor away: to wake a thread that sleeps takes longer
  // than much of what there is to do.
  template <class Ready>
  static void spin(const Ready& ready) {
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries && !ready(); ++i) {
#if defined(__x86_64__) && defined(__GNUC__)
      __builtin_ia32_pause();
#else
      std::this_thread::yield();
#endif
    }
  }

  static void look(Interrupt& interrupt) { interrupt.poll(INT64_C(1) << 40); }

  using Piece = void (*)(void*, int64_t);
  static constexpr std::chrono::milliseconds kPatience{20};

  void run(int64_t n, Piece piece, void* given) {
    std::lock_guard<std::mutex> alone(running_);  // whoever else should give work to this team
    {
      std::lock_guard<std::mutex> lock(mutex_);
      piece_ = piece;
      given_ = given;
      n_pieces_ = n;
      next_ = 0;
      error_ = nullptr;
      has_work_ = true;
      ++posted_;
    }
    changed_.notify_all();
    take_pieces();
    spin([&] { return n_helping_.load(std::memory_order_acquire) == 0; });
    std::unique_lock<std::mutex> lock(mutex_);
    has_work_ = false;  // who comes now is too late
    done_.wait(lock, [&] { return n_helping_ == 0; });
    if (error_) std::rethrow_exception(error_);
  }

  int64_t take_pieces() {
    int64_t n_done = 0;
    try {
      for (int64_t i; (i = next_.fetch_add(1)) < n_pieces_; ++n_done) piece_(given_, i);
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    return n_done;
  }

  const int n_threads_;
  std::mutex mutex_, running_;
  std::condition_variable changed_, done_;
  std::atomic<int64_t> next_{0};
  Piece piece_ = nullptr;
  void* given_ = nullptr;
  int64_t n_pieces_ = 0;
  std::atomic<uint64_t> posted_{0};  // changes with all that helpers should look at
  std::atomic<int> n_helping_{0};
  bool has_work_ = false, is_closed_ = false;
  std::exception_ptr error_;
};

constexpr int64_t kFewRows = 4096;  // of a thread

// Ranges of columns that are counted together, about four each, as many for each thread.
inline int column_ranges(const Team& team, int n_columns) {
  const int n = (n_columns + 3) / 4, threads = team.n_threads();
  return std::max(1, std::min(n_columns, (n + threads - 1) / threads * threads));
}

}  // namespace mddf::gradient
