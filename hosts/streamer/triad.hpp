// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace hosts::streamer {

/// Threads that compute a[i] = b[i] + s c[i] over arrays of their own, again and again, as STREAM's
/// triad does (J. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance
/// Computers", 1995). From construction to stop(). Thread-safety: bytes() from any thread.
class Triad {
 public:
  /// `array_bytes`: of each of the three arrays of a thread; at least one chunk.
  Triad(unsigned threads, std::size_t array_bytes);
  Triad(const Triad&) = delete;
  Triad& operator=(const Triad&) = delete;
  ~Triad() { stop(); }

  static constexpr std::size_t kChunkBytes = std::size_t{1} << 20;  // between looks at the stop

  /// Read and written so far, counted as STREAM counts: 24 for each element of eight bytes.
  std::uint64_t bytes() const;
  void stop();
  /// After stop(): true if every element written is what it must be.
  bool is_right() const;

 private:
  struct alignas(64) Worker {
    std::vector<double> a, b, c;
    std::atomic<std::uint64_t> bytes{0};
    std::thread thread{};
  };
  void work(Worker& worker);

  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Worker>> workers_;
};

/// Bytes of the machine's last level of cache, as the kernel tells; nullopt where it does not.
std::optional<std::size_t> last_cache_bytes();

}  // namespace hosts::streamer
