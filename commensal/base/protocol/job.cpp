// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/job.hpp>

namespace commensal::protocol {

using core::ErrorCode;

std::span<const std::string_view> enum_names(JobKind) {
  static constexpr std::string_view kNames[] = {"answer", "rollout"};
  return kNames;
}

const JobTraits& traits_of(JobKind kind) {
  static constexpr JobTraits kTraits[] = {{.is_joint = true, .is_movable = true},
                                          {.is_kept = true}};
  return kTraits[static_cast<std::size_t>(kind)];
}

std::span<const std::string_view> enum_names(NoisePolicy) {
  static constexpr std::string_view kNames[] = {"none", "calibrated"};
  return kNames;
}

std::span<const std::string_view> enum_names(StateRule) {
  static constexpr std::string_view kNames[] = {"any", "finite", "movable"};
  return kNames;
}

std::span<const std::string_view> enum_names(AuditorClass) {
  static constexpr std::string_view kNames[] = {"public", "privacy-class", "owner-list", "nobody"};
  return kNames;
}

core::Result<void> Job::validity() const {
  constexpr int kNoiseExponentMax = 100;
  if (steps == 0) return core::fail(ErrorCode::kInvalidArgument, "steps is 0, expected 1 or more");
  if (noise == NoisePolicy::kNone && noise_anchor != Digest{}) {
    return core::fail(ErrorCode::kInvalidArgument, "noise_anchor is set, but noise is none");
  }
  if (noise_exponent > (noise == NoisePolicy::kNone ? 0 : kNoiseExponentMax)) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "noise_exponent is {}, expected 0 to {}, and 0 where noise is none",
                      noise_exponent, kNoiseExponentMax);
  }
  if (noise == NoisePolicy::kNone && states == StateRule::kMovable) {
    return core::fail(ErrorCode::kInvalidArgument, "states is movable, but noise is none");
  }
  for (std::size_t i = 1; i < feeds.size(); ++i) {
    if (feeds[i - 1].input < feeds[i].input) continue;
    return core::fail(ErrorCode::kInvalidArgument, "feeds are not by ascending input");
  }
  if (auditors != AuditorClass::kOwnerList && !auditor_list.empty()) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "auditor_list is set, but auditors is {}, not owner-list", name_of(auditors));
  }
  return {};
}

Digest job_id(const Job& job) { return crypto::tagged_hash("commensal/job/v1", encode(job)); }

}  // namespace commensal::protocol
