// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/health.hpp>

namespace commensal::gateway {
namespace {

constexpr double kKept = 31.0 / 32;         // of what lies back, a job
constexpr double kSlownessShare = 1.0 / 8;  // of the newest
// Of one answer: none is remembered for ever, and who alone knows what is usual gains little.
constexpr double kSlownessMin = 0.5, kSlownessMax = 64;
constexpr double kDoubt = 1.0 / 8;  // of one refusal

}  // namespace

void Health::on_answer(double slowness) {
  slowness_ += kSlownessShare * (std::clamp(slowness, kSlownessMin, kSlownessMax) - slowness_);
  answers_ = answers_ * kKept + 1;
  tries_ = tries_ * kKept + 1;
  doubt_ /= 2;
  is_new_ = false;
  if (faults_in_row_ > 0) --faults_in_row_;
}

void Health::on_refusal() { doubt_ = std::min(1.0, doubt_ + kDoubt); }

void Health::on_fault(std::int64_t now_ms) {
  answers_ *= kKept;
  tries_ = tries_ * kKept + 1;
  const std::int64_t wait = kAvoidedMsMin << std::min(faults_in_row_, 20u);
  avoided_until_ms_ = now_ms + std::min(wait, kAvoidedMsMax);
  ++faults_in_row_;
}

double Health::effort(double slowness) const {
  return std::clamp(slowness, kSlownessMin, kSlownessMax) * (1 + doubt_) * (tries_ + 1) /
         (answers_ + 1);
}

double UsualTime::ms_for(std::uint64_t bytes) const {
  return bytes_ > 0 ? ms_ * std::max(1.0, static_cast<double>(bytes) / bytes_) : ms_;
}

double UsualTime::slowness_of(double took_ms, std::uint32_t ahead, std::uint64_t bytes) {
  constexpr double kNewest = 1.0 / 16, kTickMs = 1;  // less is no difference
  const double each = kTickMs + took_ms / (1.0 + ahead);
  const double slowness = ms_ > 0 ? each / ms_ : 1;
  const auto size = static_cast<double>(bytes);
  bytes_ = ms_ > 0 ? bytes_ + kNewest * (size - bytes_) : size;
  ms_ = ms_ > 0 ? ms_ + kNewest * (each - ms_) : each;
  return slowness;
}

}  // namespace commensal::gateway
