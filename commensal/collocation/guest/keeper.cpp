// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/collocation/guest/keeper.hpp>
#include <condition_variable>
#include <utility>

namespace commensal::guest {
namespace {

constexpr double kLookEveryMinS = 0.25;  // more often would cost more than it tells
constexpr double kLookEveryMaxS = 1;
constexpr double kMomentS = 2;

}  // namespace

void wait(const std::stop_token& stop, double seconds) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
}

void repeat(const std::stop_token& stop, double seconds, const std::function<void()>& work) {
  while (!stop.stop_requested()) {
    work();
    wait(stop, seconds);
  }
}

Keeper::Keeper(const Dependencies& deps, const governor::Rules& rules)
    : deps_(deps), meter_(deps.probe.traits(), kLookEveryMinS / 2), governor_(rules, deps.rng) {}

double Keeper::look_every_s() const {
  return std::clamp(deps_.probe.traits().resolution_s, kLookEveryMinS, kLookEveryMaxS);
}

void Keeper::look() {
  const probe::Sample sample = deps_.probe.sample();
  const auto rate = meter_.add(sample);
  const std::lock_guard lock(mutex_);
  signal_ = sample.why;
  if (rate) unread_ = rate;
}

void Keeper::act() {
  const double now_s = static_cast<double>(deps_.clock.monotonic_ns()) * 1e-9;
  const std::lock_guard lock(mutex_);
  deps_.pacer.set_level(governor_.tick(now_s, std::exchange(unread_, std::nullopt)));
}

View Keeper::view() const {
  const std::lock_guard lock(mutex_);
  return {governor_.status(), deps_.probe.traits().unit, signal_};
}

std::string Standstill::why(double level, const std::optional<governor::Status>& status,
                            double now_s) {
  using governor::Phase;
  if (level > 0) {
    since_s_.reset();
    return "";
  }
  if (!since_s_) since_s_ = now_s;
  const bool is_long =
      status && (status->phase == Phase::kWaiting || status->phase == Phase::kBackOff);
  if (!is_long && now_s - *since_s_ < kMomentS) return "";
  if (!status) return "the host comes first";
  if (!status->why.empty()) return std::string(status->why);
  return status->hour_s > 0 ? "the host is measured alone"
                            : "the host is measured alone, which takes the first minutes";
}

}  // namespace commensal::guest
