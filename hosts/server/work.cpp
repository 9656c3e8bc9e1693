// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <hosts/common/clock.hpp>
#include <hosts/server/work.hpp>

namespace hosts::server {
namespace {

constexpr std::size_t kTableDoubles = 1 << 16;  // 512 KiB
constexpr std::size_t kStepDoubles = 64;

}  // namespace

Work::Work(std::uint64_t seed) : table_(kTableDoubles) {
  for (double& value : table_) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    value = static_cast<double>(seed >> 33) * 0x1p-31;
  }
}

double Work::run(std::uint64_t steps) {
  double sum = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < kStepDoubles; ++i) sum += table_[at_ + i] * table_[i];
    // Lines far apart: the whole table is touched, not its beginning.
    at_ = (at_ + 37 * kStepDoubles) % kTableDoubles;
  }
  return sum;
}

double Work::steps_per_ms(double seconds) {
  constexpr std::uint64_t kPiece = 5000;
  double best = 0;
  volatile double sink = 0;
  const std::int64_t begin = common::now_ns();
  for (std::int64_t now = begin; common::seconds_between(begin, now) < seconds;) {
    sink = sink + run(kPiece);
    const std::int64_t then = common::now_ns();
    best = std::max(best, kPiece / (static_cast<double>(then - now) * 1e-6));
    now = then;
  }
  return best;
}

}  // namespace hosts::server
