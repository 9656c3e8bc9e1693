// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/worker/channel.hpp>
#include <mutex>
#include <stop_token>

namespace commensal::worker {

/// Parent's: run `number` is to end. Thread-safety: any thread.
void cancel(SharedPages& pages, std::uint32_t number);

/// Worker's: hears that a run is to end, on a thread of its own. It lives as long as the process.
class Cancelling {
 public:
  explicit Cancelling(SharedPages& pages) : pages_(pages) {}
  /// From now on there is the thread.
  void start();
  /// For the run with this number. Thread-safety: one thread.
  std::stop_token begin(std::uint32_t number);
  /// The run that began last. Thread-safety: any thread.
  bool is_cancelled() const;

 private:
  [[noreturn]] void listen();

  SharedPages& pages_;
  std::mutex mutex_;
  std::atomic<std::uint32_t> number_ = 0;  // written under mutex_; 0: none
  std::stop_source source_;                // guarded by mutex_
};

}  // namespace commensal::worker
