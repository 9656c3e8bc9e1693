// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_rollouts.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/serve/provider/late_steps.hpp>

namespace commensal::provider {

using core::ErrorCode;
using core::Result;

namespace {

constexpr std::string_view kSpace = "late_steps";  // gateway -> count

core::Bytes key_of(const crypto::Address& gateway) {
  return {gateway.bytes.begin(), gateway.bytes.end()};
}

}  // namespace

Result<LateSteps::Count> LateSteps::of(const crypto::Address& gateway) const {
  COMMENSAL_ASSIGN(const auto value, store_.get(kSpace, key_of(gateway)));
  if (!value) return Count{};
  return protocol::decode_stored<Count>(*value);
}

Result<void> LateSteps::put(const crypto::Address& gateway, const Count& count) {
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(count));
  return store_.apply({{std::string(kSpace), key_of(gateway), std::move(row)}});
}

Result<void> LateSteps::add(const crypto::Address& gateway, std::uint64_t most) {
  COMMENSAL_ASSIGN(Count count, of(gateway));
  if (count.late >= most) {
    return core::fail(ErrorCode::kFailedPrecondition,
                      "signed too late for its ticket, as {} steps before it, at most {} are "
                      "computed for nothing: {} steps with tickets make up for one",
                      count.late, most, limits::kStepsPerLate);
  }
  ++count.late;
  return put(gateway, count);
}

Result<void> LateSteps::in_time(const crypto::Address& gateway, std::uint64_t steps) {
  if (steps == 0) return {};
  COMMENSAL_ASSIGN(Count count, of(gateway));
  if (count.late == 0) return {};
  count.in_time += steps;
  for (; count.late > 0 && count.in_time >= limits::kStepsPerLate; --count.late) {
    count.in_time -= limits::kStepsPerLate;
  }
  if (count.late == 0) count.in_time = 0;
  return put(gateway, count);
}

}  // namespace commensal::provider
