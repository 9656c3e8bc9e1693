// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <commensal/collocation/tuner/tuning.hpp>
#include <limits>
#include <utility>

namespace commensal::tuner {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kReported = 0.95;
constexpr double kDecided = 0.995;  // ways are many, and looked at again and again

using Value = double (*)(const Stretch&);
double loss_of(const Stretch& one) { return one.loss; }
double speed_of(const Stretch& one) { return one.answers / one.seconds; }

/// A mean, the variance of it, and how many values that is of.
struct Mean {
  double mean = 0, variance = kInfinity, count = 0;
};
Mean mean_of(const std::vector<Stretch>& seen, Value value) {
  Mean made;
  made.count = static_cast<double>(seen.size());
  for (const Stretch& one : seen) made.mean += value(one) / made.count;
  if (made.count < 2) return made;
  double square = 0;
  for (const Stretch& one : seen) square += (value(one) - made.mean) * (value(one) - made.mean);
  made.variance = square / (made.count - 1) / made.count;
  return made;
}

/// Student's t, both ways.
Interval around(double mean, double variance, double freedom, double confidence) {
  if (variance <= 0) return {mean, mean, mean};
  if (!(freedom >= 1)) return {mean, -kInfinity, kInfinity};
  const double t = boost::math::quantile(boost::math::students_t(freedom), (1 + confidence) / 2);
  const double error = t * std::sqrt(variance);
  return {mean, mean - error, mean + error};
}
Interval interval(const std::vector<Stretch>& seen, Value value) {
  const Mean own = mean_of(seen, value);
  return around(own.mean, own.variance, own.count - 1, kReported);
}
/// B. L. Welch 1947. Precondition: two stretches of each at least.
Interval difference(const std::vector<Stretch>& seen, const std::vector<Stretch>& from,
                    Value value) {
  const Mean one = mean_of(seen, value), other = mean_of(from, value);
  const double variance = one.variance + other.variance;
  const double parts = one.variance * one.variance / (one.count - 1) +
                       other.variance * other.variance / (other.count - 1);
  const double freedom = parts > 0 ? variance * variance / parts : kInfinity;
  return around(one.mean - other.mean, variance, std::min(freedom, 1e6), kDecided);
}

}  // namespace

/// Of the time that it may run.
double Tuning::worth(double answers_per_s, double loss) const {
  const double runs =
      loss > 0 ? std::min(rules_.draw_max, rules_.set_point / loss) : rules_.draw_max;
  return std::max(0.0, answers_per_s) * runs;
}

WayFigures Tuning::figures(std::size_t way) const {
  const auto& seen = seen_[way];
  WayFigures made{.stretches = static_cast<int>(seen.size()),
                  .answers_per_s = interval(seen, speed_of),
                  .loss = interval(seen, loss_of),
                  .worth = 0};
  made.worth = worth(made.answers_per_s.mean, made.loss.mean);
  return made;
}

/// By what tells them apart, at its end that speaks against it.
bool Tuning::is_better(std::size_t way, std::size_t than) const {
  const auto &seen = seen_[way], &from = seen_[than];
  const auto least = static_cast<std::size_t>(rules_.rounds_least);
  if (seen.size() < least || from.size() < least) return false;
  const double speed = mean_of(from, speed_of).mean, loss = mean_of(from, loss_of).mean;
  return worth(speed + difference(seen, from, speed_of).low,
               loss + difference(seen, from, loss_of).high) > worth(speed, loss);
}

bool Tuning::is_worse(std::size_t way) const {
  if (left_out_.contains(way)) return true;
  for (std::size_t other = 0; other < seen_.size(); ++other) {
    if (!left_out_.contains(other) && is_better(other, way)) return true;
  }
  return false;
}

double Tuning::lost_s() const {
  double lost = 0;
  for (const auto& seen : seen_) {
    for (const Stretch& one : seen) lost += one.loss * one.seconds;
  }
  return std::max(0.0, lost);
}

bool Tuning::is_cut_short() const {
  int told = 0;
  for (const auto& seen : seen_) {
    told += static_cast<int>(seen.size()) >= rules_.rounds_least ? 1 : 0;
  }
  return told < 2 && lost_s() >= rules_.budget_s;
}

std::optional<std::size_t> Tuning::next(core::Rng& rng) {
  if (lost_s() >= rules_.budget_s) return std::nullopt;
  if (round_.empty()) {
    for (std::size_t way = 0; way < seen_.size(); ++way) {
      const bool is_done = static_cast<int>(seen_[way].size()) >= rules_.rounds_max;
      if (!is_done && !is_worse(way)) round_.push_back(way);
    }
    if (round_.size() < 2) return std::nullopt;  // nothing to compare
    for (std::size_t left = round_.size(); left > 1; --left) {
      std::swap(round_[left - 1], round_[rng.next_u64() % left]);
    }
  }
  const std::size_t way = round_.back();
  round_.pop_back();
  return left_out_.contains(way) ? next(rng) : std::optional(way);
}

std::size_t Tuning::choice() const {
  std::size_t best = 0;
  for (std::size_t way = 1; way < seen_.size(); ++way) {
    // Where no minute bears the present one, any that is known and borne is better.
    const bool is_told = static_cast<int>(seen_[way].size()) >= rules_.rounds_least;
    const bool is_better_one = left_out_.contains(0) ? is_told : is_better(way, 0);
    if (left_out_.contains(way) || !is_better_one) continue;
    if (best == 0 || figures(way).worth > figures(best).worth) best = way;
  }
  return best;
}

}  // namespace commensal::tuner
