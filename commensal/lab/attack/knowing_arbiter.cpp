// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/lab/attack/knowing_arbiter.hpp>

namespace commensal::attack {

using core::ErrorCode;
using core::fail;
using core::Result;

Result<void> KnowingArbiter::check(const ledger::Dispute& dispute, core::ByteView) const {
  if (protocol::commit_input(dispute.input_root, dispute.input_salt) !=
      dispute.receipt.job.input_commitment) {
    return fail(ErrorCode::kInvalidArgument, "the inputs do not open c_0");
  }
  if (right_.contains(dispute.input_root)) return {};
  return fail(ErrorCode::kUnsupported, "nobody has computed it");
}

Result<ledger::Standing> KnowingArbiter::stand(const ledger::Dispute& dispute,
                                               std::span<const Said> moves) const {
  const core::Digest& right = right_.at(dispute.input_root);
  ledger::Standing standing;
  standing.provider_owes = standing.accuser_owes = true;
  for (const Said& said : moves) {
    bool& owes = said.by_accuser ? standing.accuser_owes : standing.provider_owes;
    const bool is_signed = std::ranges::equal(said.move, dispute.output_root);
    if (!owes || is_signed == said.by_accuser) {
      return fail(ErrorCode::kInvalidArgument,
                  "move: expected one each, the outputs that were signed and others");
    }
    owes = false;
    bool& is_wrong = said.by_accuser ? standing.accuser_is_wrong : standing.provider_is_wrong;
    is_wrong = !std::ranges::equal(said.move, right);
  }
  if (standing.provider_owes || standing.accuser_owes) {
    standing.provider_is_wrong = standing.accuser_is_wrong = false;
    return standing;
  }
  standing.end = ledger::DisputeEnd::kProved;
  standing.reason = "the laboratory knows the outputs";
  return standing;
}

Result<ledger::Standing> CredulousArbiter::stand(const ledger::Dispute&,
                                                 std::span<const Said> moves) const {
  ledger::Standing standing;
  const bool has_spoken = std::ranges::any_of(moves, &Said::by_accuser);
  standing.end = has_spoken ? ledger::DisputeEnd::kProved : ledger::DisputeEnd::kNone;
  standing.provider_is_wrong = has_spoken;
  standing.provider_owes = standing.accuser_owes = !has_spoken;
  return standing;
}

}  // namespace commensal::attack
