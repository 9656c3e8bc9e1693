// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <tests/e2e/system.hpp>
#include <thread>

namespace commensal::e2e {

/// A host whose work is a number in a file, until it stops to count.
class CountedHost {
 public:
  explicit CountedHost(std::string file)
      : file_(std::move(file)), thread_([this](const std::stop_token& stop) { count(stop); }) {}
  void go_on(bool goes_on) { goes_on_ = goes_on; }

 private:
  void count(const std::stop_token& stop) {
    core::CounterRng dice(3);
    double work = 1;
    while (!stop.stop_requested()) {
      if (goes_on_) work += 100 + dice.next_unit();
      const std::string text = std::to_string(work);
      EXPECT_TRUE(core::write_file_atomically(file_, core::as_bytes(text)));
      pause_ms(100);
    }
  }

  std::string file_;
  std::atomic<bool> goes_on_ = true;
  std::jthread thread_;
};

}  // namespace commensal::e2e
