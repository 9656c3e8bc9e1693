// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

namespace commensal::tuner {

/// What a stretch with a guest showed, beside the stretches without one before and after it.
struct Stretch {
  double loss = 0;     // share of the host's work
  double seconds = 0;  // that it lasted
  double answers = 0;  // of the guest
};

struct TuningRules {
  int rounds_least = 6;       // stretches of a way before it is left out
  int rounds_max = 24;        // ... and altogether
  double budget_s = 12;       // of the host's work, that all stretches may cost
  double set_point = 0.0048;  // share of the host's work that the guest is to cost
  double draw_max = 0.9;      // ... of the time that it may run, at most
};

struct Interval {
  double mean = 0, low = 0, high = 0;  // 95 %
};

struct WayFigures {
  int stretches = 0;
  Interval answers_per_s;  // at full speed, beside the host
  Interval loss;           // share of the host's work meanwhile
  double worth = 0;        // answers a second that the host bears: at most a set loss
};

/// Which of several ways is worth most beside a host. Rounds try each way once, in drawn order; a
/// way that is shown to be worth less than another one is left out. The first is the one in use.
/// Thread-safety: none.
class Tuning {
 public:
  Tuning(std::size_t ways, const TuningRules& rules) : rules_(rules), seen_(ways) {}

  /// The way to try next. None: all is tried, or the budget is spent.
  std::optional<std::size_t> next(core::Rng& rng);
  void add(std::size_t way, const Stretch& stretch) { seen_[way].push_back(stretch); }
  /// It is not tried any more, and not chosen.
  void leave_out(std::size_t way) { left_out_.insert(way); }

  WayFigures figures(std::size_t way) const;
  /// The first, unless another one is shown to be worth more.
  std::size_t choice() const;
  /// What all stretches have cost of the host's work, as far as is known.
  double lost_s() const;
  /// There was no budget for as many stretches as it takes to tell any two ways apart.
  bool is_cut_short() const;
  std::size_t ways() const { return seen_.size(); }

 private:
  double worth(double answers_per_s, double loss) const;
  bool is_better(std::size_t way, std::size_t than) const;
  bool is_worse(std::size_t way) const;

  TuningRules rules_;
  std::vector<std::vector<Stretch>> seen_;  // by way
  std::vector<std::size_t> round_;          // still to be tried in this one, the next last
  std::set<std::size_t> left_out_;
};

}  // namespace commensal::tuner
