// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/futex.hpp>
#include <commensal/serve/worker/cancelling.hpp>
#include <thread>

namespace commensal::worker {

void cancel(SharedPages& pages, std::uint32_t number) {
  pages.cancelled.store(number);
  core::futex_wake_all(pages.cancelled);
}

void Cancelling::start() {
  std::thread([this] { listen(); }).detach();
}

std::stop_token Cancelling::begin(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  number_ = number;
  if (source_.stop_requested()) source_ = std::stop_source();
  if (pages_.cancelled.load() == number) source_.request_stop();
  return source_.get_token();
}

bool Cancelling::is_cancelled() const {
  const std::uint32_t number = number_;
  return number != 0 && pages_.cancelled.load() == number;
}

void Cancelling::listen() {
  std::uint32_t seen = 0;
  while (true) {
    core::futex_wait(pages_.cancelled, seen);
    seen = pages_.cancelled.load();
    const std::lock_guard lock(mutex_);
    if (seen == number_) source_.request_stop();
  }
}

}  // namespace commensal::worker
