// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/health.hpp>

namespace commensal::gateway {
namespace {

constexpr double kKept = 31.0 / 32;         // of what lies back, a job
constexpr double kSlownessShare = 1.0 / 8;  // of the newest
constexpr double kSlownessMax = 64;         // one answer's, so that none is remembered for ever

}  // namespace

void Health::on_answer(double slowness) {
  slowness_ += kSlownessShare * (std::clamp(slowness, 1 / kSlownessMax, kSlownessMax) - slowness_);
  answers_ = answers_ * kKept + 1;
  tries_ = tries_ * kKept + 1;
  is_new_ = false;
  faults_in_row_ = 0;
  avoided_until_ms_ = 0;
}

void Health::on_failure() {
  answers_ *= kKept;
  tries_ = tries_ * kKept + 1;
}

void Health::on_fault(std::int64_t now_ms) {
  const std::int64_t wait = kAvoidedMsMin << std::min(faults_in_row_, 20u);
  avoided_until_ms_ = now_ms + std::min(wait, kAvoidedMsMax);
  ++faults_in_row_;
}

double Health::effort() const { return slowness_ * (tries_ + 1) / (answers_ + 1); }

}  // namespace commensal::gateway
