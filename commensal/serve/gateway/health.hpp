// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace commensal::gateway {

/// What a gateway has measured of one provider's work. Of single answers those on public models
/// count (on a private one its owner could have it say anything), faults always. A value; time
/// comes from outside, in monotonic milliseconds. What lies back counts less: each job weighs 31/32
/// of the next.
class Health {
 public:
  static constexpr std::int64_t kAvoidedMsMin = 1'000;
  static constexpr std::int64_t kAvoidedMsMax = 300'000;
  static constexpr std::int64_t kSlowMs = 4'000;

  /// It answered, and took `slowness` times as long as the model's jobs usually do. Shortens what
  /// it is avoided for next time; not what it is avoided for now.
  void on_answer(double slowness);
  /// It refused, or put off what it had, and nobody knows who is to blame: counts little, however
  /// often, so that nobody's reputation hangs on what it is asked.
  void on_refusal();
  /// A job came to nothing by its fault: it is the last choice for a while, twice as long each time
  /// in a row.
  void on_fault(std::int64_t now_ms);
  /// A job was taken from it since it took long, which may be the job's fault: it is the last
  /// choice for kSlowMs, however often.
  void on_slow(std::int64_t now_ms) {
    avoided_until_ms_ = std::max(avoided_until_ms_, now_ms + kSlowMs);
  }

  std::uint32_t faults_in_row() const { return faults_in_row_; }
  /// It has never answered.
  bool is_new() const { return is_new_; }
  bool is_avoided(std::int64_t now_ms) const { return now_ms < avoided_until_ms_; }
  std::int64_t avoided_until_ms() const { return avoided_until_ms_; }
  /// How long its jobs take, of any model; 1 is usual.
  double slowness() const { return slowness_; }
  /// How long its jobs take, counted as often as it takes to get an answer; 1 is usual.
  double effort() const { return effort(slowness_); }
  /// The same of jobs that take it so many times as long as others.
  double effort(double slowness) const;

 private:
  double answers_ = 0;  // these two decay
  double tries_ = 0;
  double doubt_ = 0;  // 0 to 1
  double slowness_ = 1;
  bool is_new_ = true;
  std::uint32_t faults_in_row_ = 0;
  std::int64_t avoided_until_ms_ = 0;
};

/// How often a provider pauses: some times in a row, then once in a while. A value.
class Pausing {
 public:
  /// It does so once more.
  bool is_too_often(std::int64_t now_ms) {
    left_ = std::min(kInARow, left_ + static_cast<double>(now_ms - last_ms_) / kMsEach);
    last_ms_ = now_ms;
    if (left_ < 1) return true;
    --left_;
    return false;
  }

 private:
  static constexpr double kInARow = 32, kMsEach = 500;
  double left_ = kInARow;
  std::int64_t last_ms_ = 0;
};

/// How long a model's jobs take. A value.
class UsualTime {
 public:
  /// One job with this much input took this long behind `ahead` others of its provider: how slow
  /// that was, against what is usual, which it becomes part of.
  double slowness_of(double took_ms, std::uint32_t ahead, std::uint64_t bytes);
  /// What a job with this much input would usually take; 0: not known.
  double ms_for(std::uint64_t bytes) const;

 private:
  double ms_ = 0;  // per job; 0: not known
  double bytes_ = 0;
};

}  // namespace commensal::gateway
