// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <commensal/collocation/governor/governor.hpp>
#include <limits>
#include <utility>

namespace commensal::governor {
namespace {

constexpr double kAhead = 1;  // seconds that a sample may seem to come from the future
constexpr double kOverForgets = 0.95;
constexpr double kJumpSd = 5;
constexpr int kCleanEpochs = 10;  // after so many with the guest a trip is forgotten
constexpr int kAloneAgain = 2;    // epochs alone after a silence
constexpr double kStillS = 4;
constexpr double kScatterS = 4;
constexpr double kLongEpochS = 10;
constexpr double kLookLongS = 1;
constexpr double kMinute = 60;
constexpr double kFirstLong = 300;
constexpr double kRanLeast = 0.05;   // a guest that hardly runs shows no late effects
constexpr double kLagKnown = 0.004;  // a deviation, from which on it is looked for
constexpr double kRarely = 3;        // so many times more rarely
constexpr double kSilentMost = 10;   // of a silence, the guest's where it began beside it
constexpr std::string_view kNoWork = "the host does no work";

}  // namespace

std::string_view name_of(Phase phase) {
  constexpr std::array kNames = {"waiting", "host alone", "off",     "on",
                                 "still",   "long-off",   "back-off"};
  return kNames[static_cast<std::size_t>(phase)];
}

Governor::Governor(const Rules& rules, core::Rng& rng, const Carried& carried)
    : rules_(rules),
      rng_(rng),
      belief_(rules, carried.learnt),
      hour_(rules, carried.hour),
      clock_check_(rules),
      hour_before_s_(carried.hour_s),
      drawn_(carried.learnt ? 0 : rules.draw_first),
      level_tried_(carried.learnt ? carried.learnt->level_tried : 0),
      alone_left_(carried.learnt ? kAloneAgain : 5),
      back_off_s_(std::max(carried.back_off_s, rules.back_off_min)),
      rest_s_(carried.rest_s),
      run_before_s_(carried.minute_run_s) {}

Carried Governor::carried() const {
  Carried made{{}, hour_.sums(), hour_begin_s_ ? now_s_ - *hour_begin_s_ : hour_before_s_};
  const auto cost = belief_.cost();
  if (level_tried_ > 0) {
    made.learnt = belief_.learnt();
    made.learnt->level_tried = level_tried_;
  }
  made.minute_run_s = hour_begin_s_ ? minute_.run_s(now_s_) : run_before_s_;
  made.rest_s = phase_ == Phase::kBackOff ? std::max(0.0, until_s_ - now_s_) : rest_s_;
  if (has_tripped_) made.rest_s = back_off_s_;
  made.back_off_s = back_off_s_;
  if (is_running()) {
    const double run_s = (now_s_ - begin_s_) * design_.plan.level;
    made.minute_run_s += run_s;
    made.hour.run_s += run_s;
    made.hour.lost_s += run_s * std::max(0.0, belief_.all().mean);
    if (design_.is_explored) made.hour.explored_s += run_s * (std::max(0.0, cost.mean) + cost.sd);
  }
  if (silent_since_s_) made.hour.lost_s += std::min(now_s_ - *silent_since_s_, kSilentMost);
  if (doubted_) {
    const double left = doubted_->rate / belief_.rate({0, lately_});
    made.hour.lost_s += doubted_->epoch.on_s * std::max(0.0, 1 - left);
  }
  return made;
}

double Governor::next_s() const {
  if (phase_ == Phase::kWaiting) return std::numeric_limits<double>::infinity();
  const double silent_s = std::min(seen_s_ + stale_s(), changed_s_ + frozen_s());
  return part_.empty() && !is_running() ? silent_s : std::min(until_s_, silent_s);
}

double Governor::look_s(double last_s, double every_s) const {
  if (phase_ == Phase::kWaiting) return last_s + every_s;
  const bool is_long = until_s_ - begin_s_ >= kLongEpochS;
  double due_s = last_s + (is_long ? std::max(every_s, kLookLongS) : every_s);
  for (const double seam_s : {begin_s_ + rules_.settle, until_s_}) {
    if (last_s < seam_s) due_s = std::min(due_s, seam_s);
  }
  return due_s;
}

double Governor::least_s() const {
  return std::max(rules_.epoch_min, rules_.epoch_averages * over_s_ + rules_.settle);
}

double Governor::tick(double now_s, const std::optional<probe::RateSample>& sample) {
  const bool is_new = sample && accept(now_s, *sample);
  now_s_ = now_s;
  if (!last_) return 0;
  if (now_s - seen_s_ > stale_s() || now_s < seen_s_ - kAhead) {
    wait(now_s, "the signal is stale");
  } else if (now_s - changed_s_ > frozen_s()) {
    wait(now_s, last_->rate > 0 ? "the signal is frozen" : kNoWork);
  } else if (phase_ == Phase::kWaiting && is_new && sample->rate <= 0) {
    why_ = kNoWork;
  } else if (phase_ == Phase::kWaiting && is_new) {
    why_ = "the host is looked at alone first";
    alone_left_ = std::max(alone_left_, kAloneAgain);
    if (silent_since_s_) hour_.add(std::min(now_s - *silent_since_s_, kSilentMost), 0);
    silent_since_s_.reset();
    next(now_s);
  }
  if (phase_ == Phase::kWaiting) return 0;
  if (is_new) look_at(now_s, *sample);
  // A slow probe: its next word is waited for, without the guest.
  if (now_s >= until_s_ && part_.empty() && is_running()) stop_guest(now_s);
  if (now_s >= until_s_ && !part_.empty()) end(now_s);
  return is_running() ? design_.plan.level : 0;
}

bool Governor::accept(double now_s, const probe::RateSample& sample) {
  const bool is_sound = std::isfinite(sample.rate) && sample.rate >= 0 &&
                        std::isfinite(sample.over_s) && sample.over_s > 0 &&
                        sample.at_s <= now_s + kAhead && (!last_ || sample.at_s > last_->at_s);
  if (!is_sound) return false;
  if (!last_ || sample.rate != last_->rate || sample.rate_by_clock != last_->rate_by_clock)
    changed_s_ = now_s;
  last_ = sample;
  seen_s_ = now_s;
  over_s_ = std::max(sample.over_s, over_s_ * kOverForgets);
  return true;
}

/// What was drawn counts: of a host that falls silent beside the guest, or once it was stopped for
/// a gross loss, nothing good is thought.
void Governor::wait(double now_s, std::string_view why) {
  if (phase_ == Phase::kWaiting) {
    why_ = why;
    return;
  }
  if (is_running()) stop_guest(now_s);
  const bool is_beside = phase_ == Phase::kOn || doubted_;
  const bool was_drawn = phase_ == Phase::kOn || phase_ == Phase::kOff;
  if (was_drawn && !part_.empty()) {
    end_drawn(now_s);
  } else if (phase_ == Phase::kOn) {
    hour_.add(rules_.gross * (on_end_s_ - begin_s_), 0);
  }
  if (doubted_) blame(now_s, *std::exchange(doubted_, std::nullopt));
  if (is_beside && now_s >= seen_s_) {
    trip(why);
    silent_since_s_ = seen_s_;
  }
  why_ = why;
  phase_ = Phase::kWaiting;
  if (last_ && now_s < last_->at_s) {  // the clock went back: begin anew
    last_.reset();
    minute_ = {};
    if (hour_begin_s_) hour_begin_s_ = std::min(*hour_begin_s_, now_s);
    believed_s_ = std::min(believed_s_, now_s);
    long_due_s_ = long_until_s_ = 0;
  }
}

void Governor::begin(double now_s, Phase phase, double seconds) {
  if (phase == Phase::kOn || (phase == Phase::kOff && phase_ == Phase::kAlone)) why_ = {};
  phase_ = phase;
  begin_s_ = now_s;
  until_s_ = now_s + seconds;
  part_ = Part(now_s + rules_.settle);
  is_stopped_ = false;
}

void Governor::stop_guest(double now_s) {
  is_stopped_ = true;
  on_end_s_ = now_s;
  minute_.add(begin_s_, now_s, design_.plan.level);
  hour_.add_run((now_s - begin_s_) * design_.plan.level);
}

void Governor::look_at(double now_s, const probe::RateSample& sample) {
  if (phase_ == Phase::kOn && is_stopped_ && !part_.empty()) return;  // what it cost was seen
  if (!part_.add(sample) || !is_running()) return;
  if (is_gross(sample)) stop_guest(now_s);
}

/// The sample, or, at which epochs are doubted, all of the epoch so far.
bool Governor::is_gross(const probe::RateSample& sample) const {
  if (sample.is_throttled && !is_throttled_alone_) return true;
  const auto cost = belief_.cost();
  const double expected = (std::max(0.0, cost.mean) + cost.sd) * design_.plan.level;
  const auto is_beyond = [&](double rate, double noise) {
    return 1 - rate / belief_.rate({0, lately_}) > std::max(rules_.gross, expected + noise);
  };
  return is_beyond(sample.rate, rules_.gross_sd * belief_.deviation(sample.over_s)) ||
         is_beyond(part_.mean(), kJumpSd * belief_.deviation(part_.seconds()));
}

/// As the guest ran over such a stretch, if it ends now. What it did lately is a minute's running
/// mean, in the middle of the stretch.
Belief::Exposure Governor::exposure(double level, double seconds) const {
  const double keep = std::exp(-seconds / kMinute / 2);
  return {level, keep * lately_ + (1 - keep) * level};
}

void Governor::believe(double now_s, const Epoch& epoch, double rate, bool is_sure) {
  const double level = epoch.is_on ? epoch.plan.level : 0;
  if (rate <= 0 && level <= 0) return;  // it rests: no noise of its work
  changes_ += belief_.observe(rate, std::max(epoch.covered_s, rules_.settle), now_s - believed_s_,
                              exposure(level, epoch.on_s), is_sure);
  believed_s_ = now_s;
}

void Governor::end(double now_s) {
  const double seconds = now_s - begin_s_;
  given_.add(part_.given(), std::max(part_.seconds(), rules_.settle));
  double ran = 0;
  if (phase_ == Phase::kOn || phase_ == Phase::kOff) {
    end_drawn(now_s);
    ran = phase_ == Phase::kOn ? design_.plan.level * (on_end_s_ - begin_s_) / seconds : 0;
  } else {
    if (doubted_) settle_doubt(now_s);
    if (phase_ == Phase::kAlone) --alone_left_;
    const Epoch epoch{{seconds, 0, 0}, false, seconds, part_.seconds()};
    believe(now_s, epoch, part_.mean());
    check_clock(now_s, epoch);
  }
  if (phase_ != Phase::kOn) is_throttled_alone_ = part_.is_throttled();
  const bool rests = phase_ != Phase::kOn && part_.mean() <= 0;
  lately_ += (1 - std::exp(-seconds / kMinute)) * (ran - lately_);
  if (!rests) return next(now_s);
  phase_ = Phase::kWaiting;
  why_ = kNoWork;
}

Governor::Surprise Governor::surprise_of(const Epoch& epoch, double rate, double expected) const {
  return {(rate - expected) / belief_.rate(),
          kJumpSd * belief_.deviation(std::max(epoch.covered_s, rules_.settle))};
}

void Governor::end_drawn(double now_s) {
  const bool is_on = phase_ == Phase::kOn;
  const bool was_stopped = is_on && is_stopped_;
  if (is_running()) stop_guest(now_s);
  const double seconds = now_s - begin_s_;
  const Epoch epoch{design_.plan, is_on, is_on ? on_end_s_ - begin_s_ : seconds, part_.seconds()};
  check_clock(now_s, epoch);
  const double rate = part_.mean();
  const double expected = belief_.rate(exposure(is_on ? epoch.plan.level : 0, epoch.on_s));
  const auto [surprise, limit] = surprise_of(epoch, rate, expected);
  if (is_on) {
    level_tried_ = std::max(level_tried_, epoch.plan.level);
    if (was_stopped || surprise < -limit) {
      doubted_ = Doubted{epoch, rate, expected, was_stopped, part_.is_throttled()};
      return;
    }
    if (++clean_ >= kCleanEpochs) back_off_s_ = rules_.back_off_min;
  }
  book(epoch, std::clamp(surprise, -limit, limit));
  believe(now_s, epoch, rate);
  if (design_.is_explored && is_on) {
    const auto cost = belief_.cost();
    hour_.add_explored(epoch.on_s * epoch.plan.level * (std::max(0.0, cost.mean) + cost.sd));
  }
}

/// The host has been looked at without the guest: was that why it lost so much?
void Governor::settle_doubt(double now_s) {
  const Doubted doubted = *std::exchange(doubted_, std::nullopt);
  const double now = part_.mean();
  const bool is_throttle = doubted.is_throttled && !part_.is_throttled();
  const bool is_guests =
      is_throttle || std::abs(now - doubted.rate) > std::abs(now - belief_.rate({0, lately_}));
  const auto [surprise, limit] = surprise_of(doubted.epoch, doubted.rate, doubted.expected);
  const bool was_feared = belief_.cost().sd > rules_.gross / 2;
  if (!is_guests) {  // it changed by itself, and could as well have when nothing was drawn
    return book(doubted.epoch, std::clamp(surprise, -limit, limit));
  }
  blame(now_s, doubted);
  if (!doubted.is_tripped || (was_feared && !is_throttle)) return;
  trip(is_throttle ? "power or heat limits the host" : "gross loss");
}

void Governor::blame(double now_s, const Doubted& doubted) {
  const auto [surprise, limit] = surprise_of(doubted.epoch, doubted.rate, doubted.expected);
  hour_.add(doubted.epoch.on_s * std::max(0.0, 1 - doubted.rate / belief_.rate({0, lately_})), 0);
  believe(now_s, doubted.epoch, doubted.rate, surprise < -limit);
}

void Governor::trip(std::string_view why) {
  ++trips_;
  clean_ = 0;
  why_ = why;
  has_tripped_ = true;
}

/// Waits for locks, memory and disks are in no other signal.
void Governor::check_clock(double now_s, const Epoch& epoch) {
  const double rate = part_.mean_by_clock();
  if (rate <= 0) return;
  clock_check_.add(now_s, epoch, exposure(epoch.is_on ? epoch.plan.level : 0, epoch.on_s), rate);
  if (epoch.plan.draw > 0 && clock_check_.is_above()) trip("by the clock the host loses more");
}

void Governor::book(const Epoch& epoch, double surprise) {
  const auto [seconds, level, draw] = epoch.plan;
  const double odds = draw / (1 - draw);
  const double sd = belief_.deviation(std::max(epoch.covered_s, rules_.settle));
  const double believed = epoch.is_on ? belief_.all().mean * level : 0;
  const double contrast = epoch.is_on ? -surprise : surprise * odds;
  hour_.add((believed + contrast) * epoch.on_s, sd * sd * seconds * seconds * odds);
}

bool Governor::begin_what_is_due(double now_s) {
  if (rest_s_ > 0) {
    begin(now_s, Phase::kBackOff, std::max(std::exchange(rest_s_, 0), least_s()));
  } else if (std::exchange(has_tripped_, false)) {
    begin(now_s, Phase::kBackOff, back_off_s_);
    back_off_s_ = std::min(2 * back_off_s_, rules_.back_off_max);
  } else if (alone_left_ > 0) {
    begin(now_s, Phase::kAlone, least_s());
  } else if (doubted_) {
    begin(now_s, Phase::kStill, least_s());
  } else if (now_s < long_until_s_) {
    begin(now_s, Phase::kLong, std::max(least_s(), kLongEpochS));
  } else {
    return false;
  }
  return true;
}

void Governor::stand_still(double now_s, std::string_view why) {
  why_ = why;
  begin(now_s, Phase::kStill, std::max(least_s(), kStillS));
}

void Governor::next(double now_s) {
  if (!hour_begin_s_) {
    hour_begin_s_ = now_s - hour_before_s_;
    if (run_before_s_ > 0) minute_.add(now_s - run_before_s_, now_s, 1);
  }
  if (now_s - *hour_begin_s_ >= Hour::kSeconds) {
    hour_begin_s_ = now_s;
    hour_ = Hour(rules_);
  }
  const bool is_lag_known = belief_.lag().sd < kLagKnown;
  const double every_s = (is_lag_known ? kRarely : 1) * rules_.lag_every;
  if (long_due_s_ == 0) long_due_s_ = now_s + (is_lag_known ? every_s : kFirstLong);
  if (now_s >= long_due_s_ && lately_ > kRanLeast) {
    long_until_s_ = now_s + rules_.lag_off;
    long_due_s_ = now_s + every_s * (0.5 + rng_.next_unit());
  }
  if (begin_what_is_due(now_s)) return;
  if (!held_.empty()) return stand_still(now_s, held_);
  design_ = design(rules_, hour_,
                   {.cost = belief_.all(),
                    .at_once = belief_.cost(),
                    .noise = belief_.noise(),
                    .least_s = least_s(),
                    .hour_left_s = Hour::kSeconds - (now_s - *hour_begin_s_),
                    .minute_run_s = minute_.run_s(now_s),
                    .level_tried = level_tried_,
                    .seconds_before = seconds_before_,
                    .drawn = drawn_});
  if (design_.plan.draw <= 0) return stand_still(now_s, design_.why);
  ++drawn_;
  seconds_before_ = design_.plan.seconds;
  const bool is_on = rng_.next_unit() < design_.plan.draw;
  begin(now_s, is_on ? Phase::kOn : Phase::kOff, design_.plan.seconds);
}

Status Governor::status() const {
  Status now;
  now.phase = phase_;
  now.why = why_;
  now.level = is_running() ? design_.plan.level : 0;
  now.budget = design_.plan.level * design_.plan.draw;
  now.rate = last_ && phase_ != Phase::kWaiting ? last_->rate : 0;
  now.reference = belief_.is_known() ? belief_.rate() : 0;
  now.hour_s = level_tried_ > 0 && hour_begin_s_ ? std::max(0.0, seen_s_ - *hour_begin_s_) : 0;
  now.loss = now.hour_s > 0 ? hour_.lost_s() / now.hour_s : 0;
  now.loss_high = std::min(1.0, hour_.lost_high_s() / std::max(now.hour_s, 1.0));
  now.is_shown = now.hour_s > 0 && now.loss_high <= rules_.promise;
  now.cost = belief_.cost().mean;
  now.cost_sd = belief_.cost().sd;
  now.lag = belief_.lag().mean;
  now.scatter = std::sqrt(belief_.noise() / kScatterS);
  now.not_given = std::min(now.scatter, std::sqrt(given_.variance() / kScatterS));
  now.explored_s = hour_.explored_s();
  now.trips = trips_;
  now.changes = changes_;
  return now;
}

}  // namespace commensal::governor
