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
#include <vector>

#include "common/interrupt.hpp"

namespace mddf::gradient {

// Runs independent pieces of work on the calling thread and on threads that have called `help`.
class Team {
 public:
  explicit Team(int n_threads = 1) : n_threads_(n_threads), shares_(n_threads) {}
  Team(const Team&) = delete;

  // Number of threads, if all helpers have joined.
  int n_threads() const { return n_threads_; }

  // Calls work(i) for all i below n.
  template <class Work>
  void each(int64_t n, Work work) {
    if (n_threads_ == 1 || n < 2) {
      for (int64_t i = 0; i < n; ++i) work(i);
      return;
    }
    run(n, [](void* data, int64_t i) { (*static_cast<Work*>(data))(i); }, &work);
  }

  // Number of ranges that [0, n) is cut into: one for each thread, but each has at least `least`
  // entries.
  int64_t n_ranges(int64_t n, int64_t least) const {
    return n < 2 * least ? 1 : std::min<int64_t>(n_threads_, n / least);
  }
  // Calls work(first, last) for each range.
  template <class Work>
  void ranges(int64_t n, int64_t least, Work work) {
    const int64_t n_ranges = this->n_ranges(n, least);
    each(n_ranges, [&](int64_t i) { work(n * i / n_ranges, n * (i + 1) / n_ranges); });
  }

  // Works on pieces until the team is closed, and returns their number. Called by other threads.
  int64_t help(Interrupt& interrupt) {
    uint64_t last_posted = 0;
    int64_t n_done = 0;
    const int number = ++n_joined_ % n_threads_;
    const auto posted = [&] { return posted_ != last_posted; };
    Clock::time_point next_look = Clock::now() + kPatience;
    while (true) {
      if (!spin(posted)) {
        std::unique_lock<std::mutex> lock(mutex_);
        ++n_asleep_;
        changed_.wait_for(lock, kPatience, posted);
        --n_asleep_;
      }
      last_posted = posted_;
      ++n_helping_;  // before `has_work_` is read, because `run` waits until `n_helping_` is 0
      if (has_work_) n_done += take_pieces(number);
      --n_helping_;
      if (is_closed_) return n_done;
      if (Clock::now() > next_look) {  // this may be the main thread, which gets the signals
        interrupt.poll(INT64_C(1) << 40);
        next_look = Clock::now() + kPatience;
      }
    }
  }

  void close() {
    is_closed_ = true;
    post();
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Piece = void (*)(void*, int64_t);
  // Longest time between two checks for signals. Not tuned.
  static constexpr std::chrono::milliseconds kPatience{20};

  // The pieces of one thread. Other threads take pieces from it after they have done their own.
  // The same pieces go to the same thread in each call, so that their data are in its cache.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  // Waits for a short time without giving up the processor, and returns whether it is ready.
  // Waking a sleeping thread takes longer than many pieces of work. The number of tries was not
  // tuned.
  template <class Ready>
  static bool spin(const Ready& ready) {
    constexpr int kTries = 4000;
    for (int i = 0; i < kTries; ++i) {
      if (ready()) return true;
#if defined(__x86_64__) && defined(__GNUC__)
      __builtin_ia32_pause();
#else
      std::this_thread::yield();
#endif
    }
    return ready();
  }

  void post() {
    ++posted_;
    if (n_asleep_ == 0) return;
    std::lock_guard<std::mutex> lock(mutex_);  // no thread is between its check and its sleep
    changed_.notify_all();
  }

  void run(int64_t n, Piece piece, void* data) {
    std::lock_guard<std::mutex> alone(running_);  // one call of `run` at a time
    piece_ = piece;
    data_ = data;
    for (int t = 0; t < n_threads_; ++t) {
      shares_[t].next = n * t / n_threads_;
      shares_[t].end = n * (t + 1) / n_threads_;
    }
    error_ = nullptr;
    has_work_ = true;
    post();
    take_pieces(0);
    has_work_ = false;  // helpers that wake up now find no work
    while (!spin([&] { return n_helping_ == 0; })) std::this_thread::yield();
    if (error_) std::rethrow_exception(error_);
  }

  int64_t take_pieces(int number) {
    int64_t n_done = 0;
    try {
      for (int k = 0; k < n_threads_; ++k) {
        Share& share = shares_[(number + k) % n_threads_];
        for (int64_t i; (i = share.next.fetch_add(1)) < share.end; ++n_done) piece_(data_, i);
      }
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    return n_done;
  }

  const int n_threads_;
  std::vector<Share> shares_;
  Piece piece_ = nullptr;
  void* data_ = nullptr;
  std::exception_ptr error_;
  std::atomic<uint64_t> posted_{0};  // increases whenever there is news for helpers
  std::atomic<bool> has_work_{false}, is_closed_{false};
  std::atomic<int> n_helping_{0}, n_joined_{0}, n_asleep_{0};
  std::mutex mutex_, running_;
  std::condition_variable changed_;
};

// Fewest rows of a range for one thread. Not tuned.
constexpr int64_t kFewRows = 4096;

}  // namespace mddf::gradient
