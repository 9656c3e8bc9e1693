// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/collocation/guest/keeper.hpp>
#include <condition_variable>

namespace commensal::guest {
namespace {

constexpr double kLookEveryMinS = 0.25;  // more often would cost more than it tells
constexpr double kLookEveryMaxS = 1;
constexpr double kAfterLookS = 0.02;
constexpr double kMomentS = 2;
constexpr double kSignalS = 5;  // it comes within, as a rule

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace

void wait(const std::stop_token& stop, double seconds) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
}

void repeat(const std::stop_token& stop, const std::function<double()>& work) {
  while (!stop.stop_requested()) wait(stop, work());
}

Keeper::Keeper(const Dependencies& deps, const governor::Rules& rules,
               const governor::Carried& carried)
    : deps_(deps), meter_(deps.probe.traits(), kLookEveryMinS / 2), looked_s_(now_s()) {
  governor_.emplace(rules, deps_.rng, carried);
}

double Keeper::now_s() const { return static_cast<double>(deps_.clock.monotonic_ns()) * 1e-9; }

std::string Keeper::look() {
  const probe::Sample sample = deps_.probe.sample();
  const auto rate = meter_.add(sample);
  const std::lock_guard lock(mutex_);
  signal_ = sample.why;
  looked_s_ = now_s();
  deps_.pacer.set_level(governor_->tick(looked_s_, rate));
  return sample.by_clock;
}

void Keeper::act() {
  const std::lock_guard lock(mutex_);
  deps_.pacer.set_level(governor_->tick(now_s(), std::nullopt));
}

double Keeper::look_in_s() const {
  const double resolution_s = deps_.probe.traits().resolution_s;
  const std::lock_guard lock(mutex_);
  const double every_s =
      signal_.empty() ? std::clamp(resolution_s, kLookEveryMinS, kLookEveryMaxS) : kLookEveryMaxS;
  return std::max(0.0, governor_->look_s(looked_s_, every_s) - now_s());
}

double Keeper::act_in_s() const {
  const std::lock_guard lock(mutex_);
  // A look at the end of an epoch comes first.
  return std::max(0.0, governor_->next_s() + kAfterLookS - now_s());
}

void Keeper::begin_anew(
    const governor::Rules& rules,
    const std::function<governor::Carried(const governor::Carried& before)>& hand_over) {
  const std::lock_guard lock(mutex_);
  deps_.pacer.set_level(0);
  const governor::Carried carried = hand_over(governor_->carried());
  governor_.emplace(rules, deps_.rng, carried);
}

void Keeper::hold(std::string_view why) {
  const std::lock_guard lock(mutex_);
  governor_->hold(why);
}

governor::Carried Keeper::carried() const {
  const std::lock_guard lock(mutex_);
  return governor_->carried();
}

View Keeper::view() const {
  const std::lock_guard lock(mutex_);
  return {governor_->status(), deps_.probe.traits().unit, signal_};
}

/// Why there is no signal, where the governor misses one; else its own words.
std::string Standstill::reason(const View& view) {
  const bool is_missing = view.governor.phase == governor::Phase::kWaiting && !view.signal.empty();
  if (!is_missing) return std::string(view.governor.why);
  // Seconds that it counts are no news.
  if (without_digits(view.signal) != without_digits(signal_)) signal_ = view.signal;
  return "no signal: " + signal_;
}

std::string Standstill::why(double level, const std::optional<View>& view, double now_s) {
  using governor::Phase;
  const governor::Status* const status = view ? &view->governor : nullptr;
  // Where others have work and this guest has none, its level is none: it is to get some.
  if (level > 0 || (status != nullptr && status->level > 0)) {
    have_run_ = true;
    since_s_.reset();
    return "";
  }
  if (!since_s_) since_s_ = now_s;
  if (!have_run_ && status != nullptr) {
    const bool is_silent = status->phase == Phase::kWaiting && now_s - *since_s_ >= kSignalS;
    return is_silent ? reason(*view) : "the host is looked at alone first";
  }
  const bool is_long =
      status != nullptr && (status->phase == Phase::kWaiting || status->phase == Phase::kBackOff);
  if (!is_long && now_s - *since_s_ < kMomentS) return "";
  if (status == nullptr) return "the host comes first";
  if (std::string why = reason(*view); !why.empty()) return why;
  return status->hour_s > 0 ? "the host is measured alone"
                            : "the host is measured alone, which takes the first minutes";
}

}  // namespace commensal::guest
