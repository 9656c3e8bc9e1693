// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/serve/cases/accusation.hpp>
#include <commensal/verify/arbiter/parting.hpp>
#include <commensal/verify/receipt/origin.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::cases {

core::Result<Grounds> grounds_of(const receipt::Opening& opening) {
  Grounds made;
  made.output_root = receipt::state_root(opening.outputs);
  const receipt::StepTask& task = opening.task;
  if (arbiter::has_fixed_input(task.job)) {
    made.input_root = receipt::state_root(task.inputs);
    return made;
  }
  const receipt::Origin origin = receipt::origin_of(task);
  const auto root = receipt::input_root_of(origin, task.job, task.step);
  if (!root && root.error().code != core::ErrorCode::kUnsupported) {
    return tl::unexpected(root.error());
  }
  made.input_root = root.value_or(core::Digest{});
  const auto is_shown = [](const receipt::ShownTensor& one) { return !one.elements.empty(); };
  made.shows_tensors = std::ranges::any_of(origin.inputs, is_shown) ||
                       std::ranges::any_of(origin.outputs_before, is_shown);
  COMMENSAL_ASSIGN(made.origin, protocol::encode_stored(origin));
  return made;
}

ledger::Accuse accusation_of(const protocol::Receipt& receipt, const receipt::Opening& opening,
                             const Grounds& grounds, std::optional<protocol::AuditReport> report) {
  const bool is_fixed = arbiter::has_fixed_input(receipt.job);
  return {receipt,
          grounds.input_root,
          is_fixed ? opening.task.input_salt : core::Digest{},
          grounds.output_root,
          opening.output_salt,
          std::move(report),
          grounds.origin};
}

bool is_refused(const protocol::Receipt& receipt, const receipt::Opening& opening,
                const core::Digest& recomputed) {
  return recomputed == protocol::commit_step(protocol::job_id(receipt.job), receipt.step,
                                             receipt::kRefused, opening.output_salt);
}

}  // namespace commensal::cases
