// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace commensal::gateway {

/// What is known when a job that may move is given to a provider.
struct Expected {
  double usual_ms = 0;       // of such a job of this model; 0: not known
  std::uint32_t ahead = 0;   // jobs that the provider has in hand
  std::uint32_t faults = 0;  // of the provider, in a row
  bool is_trial = false;     // it has never answered, and others have
  bool is_warm = false;      // it has answered this model before
  bool is_first = true;      // of those who get the job
  std::int64_t model_bytes = 0;
};

/// Of a job whose model usually takes so long; 0: nobody has answered it.
inline bool is_long(double usual_ms) {
  constexpr double kLongMs = 250;
  return usual_ms <= 0 || usual_ms > kLongMs;
}

/// Whether who has been busy with what it has in hand for so long keeps waiting whoever joins it
/// there with a job that usually takes `usual_ms`.
inline bool is_held_ms(std::int64_t busy_ms, double usual_ms) {
  constexpr double kMsMin = 50, kFactor = 4;
  return static_cast<double>(busy_ms) > std::max(kMsMin, kFactor * usual_ms);
}

/// After so many milliseconds without an answer somebody else who is known gets the job; nothing:
/// it stays until its provider counts as silent. Who is tried out has little more than what is
/// usual, and twice that after each fault, as it is avoided twice as long. Who may have to fetch
/// and load the model first has time for that. A pure function.
inline std::optional<std::int64_t> patience_ms(const Expected& known) {
  constexpr double kTrialMs = 10, kTrialFactor = 4, kFactor = 8, kMsMin = 1'000;
  constexpr double kLoadMs = 20'000, kUnknownMs = 100'000, kBytesPerMs = 4'096;
  if (known.is_trial && known.usual_ms > 0) {
    return static_cast<std::int64_t>(kTrialMs + kTrialFactor * known.usual_ms)
           << std::min(known.faults, 10u);
  }
  const double answer_ms = kFactor * known.usual_ms * (1 + known.ahead);
  if (known.is_warm && known.usual_ms > 0) {
    if (!known.is_first) return std::nullopt;  // the request itself may take long
    return static_cast<std::int64_t>(std::max(kMsMin, answer_ms));
  }
  const double load_ms = static_cast<double>(known.model_bytes) / kBytesPerMs;
  return static_cast<std::int64_t>((known.usual_ms > 0 ? kLoadMs : kUnknownMs) + load_ms +
                                   answer_ms);
}

/// When somebody new is tried where others are known: two at once, then one request in 64, more
/// often for each that succeeds, up to one in 16, and four times as rarely for each that fails,
/// down to one in 1,024: four that succeed do not make up for one that fails, so that names that
/// come by the thousand fail fewer than one request in a hundred, whichever of them fail. A value.
class Trials {
 public:
  bool may_begin() const { return budget_ >= 1 && running_ < kAtOnce; }
  void begin() {
    --budget_;
    ++running_;
  }
  void end() { --running_; }
  void on_success() { share_ = std::min(kShare, kGrowth * share_); }
  void on_failure() { share_ = std::max(kShareMin, share_ / 4); }
  /// Somebody known has answered.
  void on_answer() { budget_ = std::min(kBurst, budget_ + share_); }

 private:
  static constexpr double kShare = 1.0 / 16, kShareMin = 1.0 / 1024, kBurst = 2, kGrowth = 1.4;
  static constexpr int kAtOnce = 2;

  double budget_ = kBurst;
  double share_ = kShare / 4;
  int running_ = 0;
};

}  // namespace commensal::gateway
