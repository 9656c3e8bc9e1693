// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/lab/collocation/ticker.hpp>
#include <condition_variable>
#include <mutex>

namespace commensal::lab {

Ticker::Ticker(double seconds, std::function<void()> work)
    : thread_([this, seconds, work = std::move(work)](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
          work();
          cpu_ns_ = core::thread_cpu_ns();
          never.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
        }
      }) {}

}  // namespace commensal::lab
