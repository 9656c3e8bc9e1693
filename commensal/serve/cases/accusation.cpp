// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/serve/cases/accusation.hpp>
#include <commensal/verify/arbiter/parting.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::cases {

ledger::Accuse accusation_of(const protocol::Receipt& receipt, const receipt::Opening& opening,
                             const core::Digest& input_root, const core::Digest& output_root,
                             std::optional<protocol::AuditReport> report) {
  const bool is_fixed = arbiter::has_fixed_input(receipt.job);
  return {receipt,     input_root,          is_fixed ? opening.task.input_salt : core::Digest{},
          output_root, opening.output_salt, std::move(report)};
}

bool is_refused(const protocol::Receipt& receipt, const receipt::Opening& opening,
                const core::Digest& recomputed) {
  return recomputed == protocol::commit_step(protocol::job_id(receipt.job), receipt.step,
                                             receipt::kRefused, opening.output_salt);
}

}  // namespace commensal::cases
