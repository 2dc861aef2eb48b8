// Calls of the kernel, which run without the GIL and can be cancelled.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "common/interrupt.hpp"

namespace mddf {

namespace nb = nanobind;

// A request to stop, shared by all calls that belong to one task.
class Cancel {
 public:
  bool is_set() const { return is_set_.load(std::memory_order_relaxed); }

  // Tells all calls to stop, and waits until the running calls have returned to Python.
  void stop() {
    is_set_ = true;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (n_running_ == 0) return;
    }
    // The interpreter must not end during this wait.
    const Running waiting(this == &at_exit() ? nullptr : &at_exit(), true);
    nb::gil_scoped_release release;  // the calls need the GIL to return
    std::unique_lock<std::mutex> lock(mutex_);
    none_runs_.wait_for(lock, kLongest, [this] { return n_running_ == 0; });
  }

  // A running call.
  class Running {
   public:
    explicit Running(Cancel* cancel, bool even_if_set = false) : cancel_(cancel) {
      if (!cancel_) return;
      if (cancel_->is_set() && !even_if_set) throw Cancelled();
      std::lock_guard<std::mutex> lock(cancel_->mutex_);
      ++cancel_->n_running_;
    }
    Running(const Running&) = delete;
    ~Running() {
      if (!cancel_) return;
      std::lock_guard<std::mutex> lock(cancel_->mutex_);
      if (--cancel_->n_running_ == 0) cancel_->none_runs_.notify_all();
    }
    bool should_stop() const { return cancel_ && cancel_->is_set(); }

   private:
    Cancel* cancel_;
  };

  // Stops all calls of this process before the interpreter ends: a thread that returned to Python
  // afterwards would abort the process.
  static Cancel& at_exit() {
    static Cancel* cancel = new Cancel;  // never destroyed: other threads may outlive the module
    return *cancel;
  }

 private:
  // Reached only if other threads were running calls when the process was forked.
  static constexpr std::chrono::seconds kLongest{10};
  std::atomic<bool> is_set_{false};
  int n_running_ = 0;
  std::mutex mutex_;
  std::condition_variable none_runs_;
};

// One call, from the release of the GIL until it is acquired again. On the main thread, where
// signal handlers of Python run, it checks for signals.
class Call : public Interrupt {
 public:
  explicit Call(Cancel* cancel)
      : running_(cancel), until_exit_(&Cancel::at_exit()), is_main_(on_main_thread()) {}

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetweenSignals{50};

  static bool on_main_thread() {
    const nb::object main = nb::module_::import_("threading").attr("main_thread")();
    return nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
  }

  void check() override {
    if (running_.should_stop() || until_exit_.should_stop()) throw Cancelled();
    if (!is_main_ || Clock::now() < next_) return;
    {
      nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    next_ = Clock::now() + kBetweenSignals;
  }

  const Cancel::Running running_, until_exit_;
  const bool is_main_;
  Clock::time_point next_ = Clock::now() + kBetweenSignals;
  nb::gil_scoped_release release_;  // the last member: the GIL is acquired before the call ends
};

// Calls work(interrupt) without the GIL, and returns its result.
template <class Work>
auto without_gil(Cancel* cancel, Work work) {
  Call call(cancel);
  return work(static_cast<Interrupt&>(call));
}

}  // namespace mddf
