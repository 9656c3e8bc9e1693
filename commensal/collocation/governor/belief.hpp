// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/collocation/governor/rules.hpp>
#include <optional>

namespace commensal::governor {

/// What was learnt, for the next start: of this host, network and device.
struct Learnt {
  double cost = 0,
         cost_sd = 0;          // share of the host's work that a guest at full speed costs at once
  double lag = 0, lag_sd = 0;  // ... and late
  double correlation = 0;      // of what is not known of the two: their sum is known better
  double noise = 0;            // relative variance of the host's mean over one second
  double level_tried = 0;      // 0: nothing is known
};

/// What is believed of the host's rate without the guest, and of what a guest at full speed costs
/// it, at once and late (heat, caches, memory: a minute's running mean of its level). One filter of
/// three states (R. E. Kalman 1960), in which an epoch without the guest tells of the rate and one
/// with it of the difference; of several, that follow the host's own drift more or less quickly,
/// the one counts that has predicted best lately. Beside them runs a second opinion that takes
/// nothing for known of the cost: where it tells what comes so much better that the odds are with
/// it (R. E. Kass and A. E. Raftery 1995), it is believed: the cost has changed. A value.
class Belief {
 public:
  struct Share {
    double mean = 0;
    double sd = 0;
  };
  /// What the guest did in a stretch: its level then, and its level lately.
  struct Exposure {
    double level = 0;
    double lately = 0;
  };

  Belief(const Rules& rules, const std::optional<Learnt>& learnt);

  bool is_known() const { return count_ > 0; }
  /// Of the host, without the guest, if what it did before no longer counted.
  double rate() const { return opinion_.now().rate; }
  /// With the guest so. Precondition: is_known().
  double rate(const Exposure& guest) const;
  Share cost() const { return share(1); }
  Share lag() const { return share(2); }
  /// Both: what a guest costs that runs all the time.
  Share all() const;
  /// Standard deviation of what comes, over `seconds`, against rate(): noise, and what rate() gets
  /// wrong.
  double deviation(double seconds) const;
  double noise() const { return noise_; }
  /// What the next one may begin with, but for the level.
  Learnt learnt() const;

  /// A stretch of `seconds` has ended at `rate`, `elapsed_s` after the one before. What is beyond
  /// all noise counts up to a limit, unless it `is_sure`. True: it jumped, and so did the one
  /// before, to the same: that is the host's rate now.
  bool observe(double rate, double seconds, double elapsed_s, const Exposure& guest,
               bool is_sure = false);

 private:
  using Vector = std::array<double, 3>;
  struct Filter {
    double drift =
        0;  // of the rate from one epoch to the next, beside the epoch's noise: variances
    double rate = 0;
    Vector state{};  // [0] stays 0: it goes into `rate`
    std::array<Vector, 3> variance{};
    double error = 0;  // running mean of the squares of what it got wrong
  };

  struct Opinion {
    std::array<Filter, 3> filters;
    std::size_t best = 1;
    double likelihood = 0;  // its logarithm, of all that came since the second opinion began

    const Filter& now() const { return filters[best]; }
    /// Of a guest's cost nothing is known, or only that it may be off by so much.
    void doubt(double cost_sd);
  };

  Share share(std::size_t i) const;
  /// Returns the logarithm of the likelihood.
  double update(Filter& filter, double rate, double seconds, double elapsed_s,
                const Exposure& guest, double limit) const;
  void update(Opinion& opinion, double rate, double seconds, double elapsed_s,
              const Exposure& guest, double limit) const;
  void settle(double rate, double seconds);
  void compare(bool is_on);

  Rules rules_;
  Opinion opinion_;
  Opinion second_;
  long count_ = 0;
  int compared_ = 0;  // epochs with the guest since the second opinion began
  double noise_;
  double jumped_to_ = 0;  // 0: it did not
};

}  // namespace commensal::governor
