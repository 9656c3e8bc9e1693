// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/job.hpp>

namespace commensal::protocol {

using core::ErrorCode;

std::span<const std::string_view> enum_names(NoisePolicy) {
  static constexpr std::string_view kNames[] = {"none", "calibrated"};
  return kNames;
}

std::span<const std::string_view> enum_names(AuditorClass) {
  static constexpr std::string_view kNames[] = {"public", "privacy-class", "owner-list", "nobody"};
  return kNames;
}

core::Result<void> Job::validity() const {
  if (steps == 0) return core::fail(ErrorCode::kInvalidArgument, "steps is 0, expected 1 or more");
  if (noise == NoisePolicy::kNone && noise_key_hash != Digest{}) {
    return core::fail(ErrorCode::kInvalidArgument, "noise_key_hash is set, but noise is none");
  }
  if (auditors != AuditorClass::kOwnerList && !auditor_list.empty()) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "auditor_list is set, but auditors is {}, not owner-list", name_of(auditors));
  }
  return {};
}

Digest job_id(const Job& job) { return crypto::tagged_hash("commensal/job/v1", encode(job)); }

}  // namespace commensal::protocol
