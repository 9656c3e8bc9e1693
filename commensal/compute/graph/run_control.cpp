// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/compute/graph/run_control.hpp>

namespace commensal::graph {

using core::ErrorCode;

bool RunControl::end(End why) {
  End none = End::kNone;
  end_.compare_exchange_strong(none, why);
  return false;
}

bool RunControl::goes_on() {
  if (cancel_.stop_requested()) return end(End::kCancelled);
  return end_.load(std::memory_order_relaxed) == End::kNone;
}

bool RunControl::pace(std::int64_t work_ops) {
  if (!goes_on()) return false;
  if (!counts()) return true;
  const std::lock_guard lock(mutex_);
  if (work_ops > ops_max_ - ops_) return end(End::kOverBudget);
  ops_ += work_ops;
  if (pacer_ != nullptr && !pacer_->pace(work_ops)) return end(End::kPacer);
  return goes_on();  // it may have rested for long
}

bool RunControl::yield() {
  if (!goes_on()) return false;
  if (pacer_ == nullptr) return true;
  if (!pacer_->yield()) return end(End::kPacer);
  return goes_on();
}

core::Result<void> RunControl::begin(std::int64_t work_ops) {
  if (!pace(work_ops)) return tl::unexpected(why());
  return {};
}

core::Error RunControl::why() const {
  switch (end_.load()) {
    case End::kNone:
      break;
    case End::kCancelled:
      return {ErrorCode::kCancelled, "cancelled"};
    case End::kOverBudget:
      return {ErrorCode::kOverBudget,
              fmt::format("the compute budget of {} operations is used up", ops_max_)};
    case End::kPacer:
      return {ErrorCode::kUnavailable, "the host needs its machine: stopped"};
  }
  core::check(false, "a run that goes on has no reason to end");
  return {};
}

}  // namespace commensal::graph
