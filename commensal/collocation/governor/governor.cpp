// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <commensal/collocation/governor/governor.hpp>
#include <utility>

namespace commensal::governor {
namespace {

constexpr double kAhead = 1;       // seconds that a sample may seem to come from the future
constexpr double kGrowth = 1.25;   // of a cycle in which nothing is to be feared
constexpr double kCycleParts = 4;  // a cycle has at least so many of the shortest stretches
constexpr double kHalfGone = 0.5;  // of a gross loss: the host lost it by itself
constexpr double kOverForgets = 0.95;
constexpr double kFearedSd = 3;

}  // namespace

std::string_view name_of(Phase phase) {
  constexpr std::array kNames = {"waiting", "off", "on", "check", "back-off"};
  return kNames[static_cast<std::size_t>(phase)];
}

Governor::Governor(const Rules& rules, core::Rng& rng)
    : rules_(rules),
      rng_(rng),
      noise_(rules),
      slope_(rules),
      evidence_(rules),
      alarm_(rules),
      cycle_s_(rules.cycle),
      back_off_s_(rules.back_off_min) {}

double Governor::tick(double now_s, const std::optional<probe::RateSample>& sample) {
  const double level = take(now_s, sample);
  return phase_ == Phase::kOn ? level : 0;
}

double Governor::take(double now_s, const std::optional<probe::RateSample>& sample) {
  const bool is_new = sample && accept(now_s, *sample);
  if (!last_) return 0;
  const double stale_s = std::max(rules_.stale, 3 * over_s_);
  if (now_s - seen_s_ > stale_s || now_s < seen_s_ - kAhead) {
    wait(now_s, "the signal is stale");
  } else if (now_s - changed_s_ > std::max(rules_.frozen, 6 * over_s_)) {
    wait(now_s, "the signal is frozen");
  } else if (phase_ == Phase::kWaiting && is_new) {
    why_ = "the host is looked at alone first";
    begin_off(now_s, Phase::kOff, 0);
  }
  if (is_new) look_at(now_s, *sample);
  if (phase_ == Phase::kOn && now_s >= until_s_) {
    on_ = now_;
    on_end_s_ = now_s;
    begin_off(now_s, Phase::kOff, plan_.off_s);
  } else if (phase_ != Phase::kWaiting && phase_ != Phase::kOn && now_s >= until_s_) {
    end_off(now_s);
  }
  return plan_.level;
}

bool Governor::accept(double now_s, const probe::RateSample& sample) {
  const bool is_sound = std::isfinite(sample.rate) && sample.rate > 0 &&
                        std::isfinite(sample.over_s) && sample.over_s > 0 &&
                        sample.at_s <= now_s + kAhead && (!last_ || sample.at_s > last_->at_s);
  if (!is_sound) return false;
  if (!last_ || sample.rate != last_->rate) changed_s_ = now_s;
  last_ = sample;
  seen_s_ = now_s;
  over_s_ = std::max(sample.over_s, over_s_ * kOverForgets);
  return true;
}

double Governor::part_s() const { return std::max(rules_.part_min, 2 * over_s_ + rules_.settle); }

void Governor::wait(double now_s, std::string_view why) {
  if (phase_ == Phase::kWaiting) return;
  if (now_s > off_begin_s_) evidence_.add_idle(now_s - off_begin_s_);
  phase_ = Phase::kWaiting;
  why_ = why;
  before_.reset();
  on_.reset();
  if (last_ && now_s < last_->at_s) last_.reset();  // the clock went back: begin anew
}

void Governor::begin_off(double now_s, Phase phase, double least_s) {
  phase_ = phase;
  off_begin_s_ = now_s;
  until_s_ = now_s + std::max(least_s, part_s());
  const double begin_s = now_s + rules_.settle;
  now_ = Part(begin_s);
  late_ = Part(std::max(begin_s, until_s_ - beside_s()));
}

void Governor::begin_on(double now_s) {
  phase_ = Phase::kOn;
  why_ = {};
  on_begin_s_ = now_s;
  until_s_ = now_s + plan_.on_s;
  before_ = late_;
  recent_ = now_ = Part(now_s + rules_.settle);
}

void Governor::look_at(double now_s, const probe::RateSample& sample) {
  if (phase_ != Phase::kOn) return look_at_host_alone(sample);
  if (!now_.add(sample)) return;
  if (is_gross(sample)) {
    on_ = now_;
    on_end_s_ = now_s;
    begin_off(now_s, Phase::kCheck, 0);
  } else if (is_worse_than_feared(sample)) {
    until_s_ = now_s;
  }
}

void Governor::look_at_host_alone(const probe::RateSample& sample) {
  late_.add(sample);
  const bool is_beside = sample.at_s <= off_begin_s_ + rules_.settle + beside_s();
  if (is_beside || now_.empty()) now_.add(sample);
}

bool Governor::is_gross(const probe::RateSample& sample) const {
  if (sample.is_throttled && !before_->is_throttled()) return true;
  const double noise = rules_.gross_sd * std::sqrt(noise_.variance(sample.over_s));
  const double expected = std::max(0.0, slope_.mean()) * plan_.level;
  return 1 - sample.rate / before_->mean() > std::max(rules_.gross, expected + noise);
}

/// What was believed of the guest does not hold: a long stretch is not waited for.
bool Governor::is_worse_than_feared(const probe::RateSample& sample) {
  if (!recent_.add(sample) || recent_.seconds() < rules_.part_min) return false;
  const Part recent = std::exchange(recent_, Part(sample.at_s));
  const double loss = 1 - recent.mean() / before_->mean();
  const double sd =
      std::sqrt(noise_.variance(recent.seconds()) + noise_.variance(before_->seconds()));
  const double feared = slope_.high(rules_.caution) * plan_.level;
  return loss > rules_.promise && loss > feared + kFearedSd * sd;
}

void Governor::end_off(double now_s) {
  if (now_.empty() || late_.empty()) return;  // a slow probe: wait for its next word
  if (to_learn_ > 0) return learn_noise(now_s);
  if (phase_ == Phase::kBackOff) {
    evidence_.add_idle(now_s - off_begin_s_);
    before_.reset();
    on_.reset();
    return begin_off(now_s, Phase::kOff, cycle_s_ / 2);
  }
  const bool is_gross =
      phase_ == Phase::kCheck && judge_check() && (!is_first_look_ || on_->is_throttled());
  const bool is_alarmed = on_ && before_ && !on_->empty() && learn(now_s);
  is_first_look_ = false;
  if (is_gross)
    return trip(now_s, on_->is_throttled() ? "power or heat limits the host" : "gross loss");
  if (is_alarmed) return trip(now_s, "the loss stays above what is promised");
  settle_budget();
  if (budget_ < rules_.budget_min) return trip(now_s, "nothing can be harvested");
  plan_ = next_plan();
  begin_on(now_s);
}

Plan Governor::next_plan() {
  is_first_look_ = !std::exchange(has_run_, true);
  if (is_first_look_) return make_first_plan(rules_, part_s());
  const double part_sd = std::sqrt(noise_.variance(part_s()));
  return make_plan(rules_, {budget_, slope_.high(rules_.caution), cycle_s_, part_s(), part_sd},
                   rng_);
}

/// Before the first stretch with the guest the host is looked at alone.
void Governor::learn_noise(double now_s) {
  if (before_) {
    const double change = now_.mean() / before_->mean() - 1;
    noise_.observe(change, before_->seconds(), now_.seconds());
  }
  before_ = now_;
  --to_learn_;
  begin_off(now_s, Phase::kOff, (0.1 + 0.2 * rng_.next_unit()) * cycle_s_);
}

/// True: with the guest gone, what was lost is back.
bool Governor::judge_check() {
  if (on_->is_throttled() && !now_.is_throttled()) return true;
  const double now = now_.mean() / before_->mean();
  const double then = on_->mean() / before_->mean();
  return now > 1 - (1 - std::min(then, 1 - rules_.gross)) * kHalfGone;
}

/// What the last stretch with the guest says. True: the sequential test trips.
bool Governor::learn(double now_s) {
  const double change = now_.mean() / before_->mean() - 1;
  Cycle cycle{now_s - on_begin_s_, on_end_s_ - on_begin_s_, 0, 0};
  if (!noise_.observe(change, before_->seconds(), now_.seconds())) {
    ++changes_;
    evidence_.add_idle(cycle.seconds);
    return false;
  }
  const double reference = (before_->mean() + now_.mean()) / 2;
  cycle.loss = 1 - on_->mean() / reference;
  // Each reference serves two cycles: what it adds to the scatter of their mean is twice a quarter.
  cycle.sd = std::sqrt(noise_.variance(on_->seconds()) + noise_.variance(before_->seconds()) / 2 +
                       noise_.variance(now_.seconds()) / 2);
  slope_.observe(plan_.level, cycle.loss, cycle.sd, now_s - learnt_s_);
  learnt_s_ = now_s;
  evidence_.add(cycle);
  return !is_first_look_ && alarm_.observe(cycle);
}

/// Additive increase, multiplicative decrease, and never beyond what the evidence bears.
void Governor::settle_budget() {
  const double borne = std::min(1.0, rules_.set_point / slope_.high(rules_.caution));
  budget_ = std::min(borne, budget_ + std::max(rules_.step, budget_ / 4));
  if (evidence_.is_noisy() || (evidence_.is_full() && evidence_.loss_high() > rules_.promise)) {
    budget_ /= 2;
  } else if (evidence_.is_full()) {
    back_off_s_ = rules_.back_off_min;
  }
  const double least = std::max(rules_.cycle, kCycleParts * part_s());
  const bool is_calm = budget_ > 0.5 && !evidence_.is_noisy();
  const double most = std::max(rules_.cycle_max, 2 * least);
  cycle_s_ = is_calm ? std::clamp(cycle_s_ * kGrowth, least, most) : least;
}

void Governor::trip(double now_s, std::string_view why) {
  ++trips_;
  why_ = why;
  budget_ /= 2;
  slope_.doubt();
  alarm_.reset();
  begin_off(now_s, Phase::kBackOff, back_off_s_);
  back_off_s_ = std::min(2 * back_off_s_, rules_.back_off_max);
}

Status Governor::status() const {
  Status now;
  now.phase = phase_;
  now.why = why_;
  now.level = phase_ == Phase::kOn ? plan_.level : 0;
  now.budget = budget_;
  now.rate = last_ && phase_ != Phase::kWaiting ? last_->rate : 0;
  now.reference = before_ && !before_->empty() ? before_->mean() : 0;
  now.loss = evidence_.loss();
  now.loss_high = evidence_.loss_high();
  now.over_s = evidence_.over_s();
  now.window_s = evidence_.window_s();
  now.is_shown = evidence_.is_full() && now.loss_high <= rules_.promise;
  now.slope = slope_.mean();
  now.slope_sd = slope_.sd();
  now.trips = trips_;
  now.changes = changes_;
  return now;
}

}  // namespace commensal::governor
