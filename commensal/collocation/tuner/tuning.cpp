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

/// Student's t.
Interval interval(const std::vector<Stretch>& seen, double confidence,
                  double (*value)(const Stretch&)) {
  const auto count = static_cast<double>(seen.size());
  double sum = 0, square = 0;
  for (const Stretch& one : seen) sum += value(one);
  const double mean = count > 0 ? sum / count : 0;
  if (count < 2) return {mean, -kInfinity, kInfinity};
  for (const Stretch& one : seen) square += (value(one) - mean) * (value(one) - mean);
  const double t = boost::math::quantile(boost::math::students_t(count - 1), (1 + confidence) / 2);
  const double error = t * std::sqrt(square / (count - 1) / count);
  return {mean, mean - error, mean + error};
}

}  // namespace

WayFigures Tuning::figures(std::size_t way, double confidence) const {
  const auto& seen = seen_[way];
  WayFigures made{
      .stretches = static_cast<int>(seen.size()),
      .answers_per_s =
          interval(seen, confidence, [](const Stretch& one) { return one.answers / one.seconds; }),
      .loss = interval(seen, confidence, [](const Stretch& one) { return one.loss; }),
      .worth = {}};
  // Of the time that it may run.
  const auto runs = [&](double loss) {
    return loss > 0 ? std::min(rules_.draw_max, rules_.set_point / loss) : rules_.draw_max;
  };
  const Interval &speed = made.answers_per_s, &loss = made.loss;
  made.worth = {speed.mean * runs(loss.mean), std::max(0.0, speed.low) * runs(loss.high),
                speed.high * runs(loss.low)};
  return made;
}

bool Tuning::is_worse(std::size_t way) const {
  if (left_out_.contains(way)) return true;
  const WayFigures own = figures(way, kDecided);
  if (own.stretches < rules_.rounds_least) return false;
  for (std::size_t other = 0; other < seen_.size(); ++other) {
    const WayFigures that = figures(other, kDecided);
    if (that.stretches >= rules_.rounds_least && that.worth.low > own.worth.high) return true;
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
  return told < 2;
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
  double most = 0;
  const WayFigures present = figures(0, kDecided);
  for (std::size_t way = 1; way < seen_.size(); ++way) {
    const WayFigures own = figures(way, kDecided);
    if (left_out_.contains(way)) continue;
    if (own.stretches < rules_.rounds_least || own.worth.low <= present.worth.high) continue;
    if (own.worth.mean <= most) continue;
    most = own.worth.mean;
    best = way;
  }
  return best;
}

}  // namespace commensal::tuner
