// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/beacon/tracker.hpp>

namespace commensal::beacon {
namespace {

using core::ErrorCode;
using core::fail;

core::Result<void> expect_near(std::uint64_t round, std::uint64_t known) {
  const std::uint64_t gap = round > known ? round - known : known - round;
  if (gap <= limits::kRevealGapMax) return {};
  return fail(ErrorCode::kResourceExhausted,
              "round {} is {} rounds from round {}, at most {} are accepted", round, gap, known,
              limits::kRevealGapMax);
}

}  // namespace

core::Result<void> HashChainTracker::check(std::uint64_t round, const core::Digest& value) const {
  if (round <= head_.first || round > head_.rounds) {
    return fail(ErrorCode::kInvalidArgument, "round {}, expected {} to {} of the chain of {}",
                round, head_.first + 1, head_.rounds, crypto::to_text(head_.owner));
  }
  COMMENSAL_TRY(expect_near(round, round_));
  const bool holds = round >= round_ ? hash_back(value, round - round_) == value_
                                     : hash_back(value_, round_ - round) == value;
  if (holds) return {};
  return fail(ErrorCode::kInvalidArgument,
              "the reveal of round {} does not hash to the chain of {}", round,
              crypto::to_text(head_.owner));
}

core::Result<void> HashChainTracker::accept(std::uint64_t round, const core::Digest& value) {
  COMMENSAL_TRY(check(round, value));
  if (round > round_) {
    round_ = round;
    value_ = value;
  }
  return {};
}

core::Result<core::Digest> HashChainTracker::value_of(std::uint64_t round) const {
  if (round > round_) {
    return fail(ErrorCode::kFailedPrecondition,
                "round {} is not revealed yet by {}, whose latest is {}", round,
                crypto::to_text(head_.owner), round_);
  }
  COMMENSAL_TRY(expect_near(round, round_));
  return hash_back(value_, round_ - round);
}

}  // namespace commensal::beacon
