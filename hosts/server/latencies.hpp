// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace hosts::server {

struct Quantiles {
  std::uint64_t count = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double p999_ms = 0;
};

/// The smallest value that at least q of the values do not exceed (nearest rank). Empty: zeros.
Quantiles quantiles_of(std::vector<double> values_ms);

struct Latency {
  double ms = 0;
  /// What it would have been of the same requests, had each taken just the work that it is.
  double unhindered_ms = 0;
  bool operator==(const Latency&) const = default;
};

/// Latencies of the last `window_ns` and of the whole run. Not thread-safe.
class Latencies {
 public:
  static constexpr std::size_t kKeptMax = std::size_t{1} << 22;   // of the whole run, the newest
  static constexpr std::size_t kTakenMax = std::size_t{1} << 14;  // at a time

  explicit Latencies(std::int64_t window_ns) : window_ns_(window_ns) {}

  void add(std::int64_t done_ns, Latency latency);
  Quantiles window(std::int64_t now_ns) const;
  Quantiles all() const;
  /// Those since the last take(), in order: the newest kTakenMax of them.
  std::vector<Latency> take();
  std::uint64_t count() const { return count_; }
  double sum_ms() const { return sum_ms_; }

 private:
  struct One {
    std::int64_t done_ns;
    Latency latency;
  };
  std::int64_t window_ns_;
  std::deque<One> kept_;
  std::uint64_t count_ = 0;
  std::uint64_t taken_ = 0;  // of them
  double sum_ms_ = 0;
};

}  // namespace hosts::server
