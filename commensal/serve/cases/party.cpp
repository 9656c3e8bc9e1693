// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/serve/cases/party.hpp>
#include <commensal/verify/arbiter/moves.hpp>
#include <commensal/verify/arbiter/parting.hpp>
#include <commensal/verify/receipt/shown.hpp>

namespace commensal::cases {

using arbiter::Side;
using core::ErrorCode;
using core::Result;
using ledger::CaseStatus;

bool has_turn(const Case& at, Side side, const ledger::Arbiter& arbiter) {
  if (at.status == CaseStatus::kAccused) return side == Side::kProvider;
  if (at.status != CaseStatus::kContested) return false;
  const auto standing = arbiter.stand(at.dispute, at.moves);
  if (!standing) return false;
  return side == Side::kProvider ? standing->provider_owes : standing->accuser_owes;
}

namespace {

/// What the accused is told comes from whom it may harm: that this case is about what it has signed
/// itself, and that the outputs are those. What remains Engine::argue checks. Error: kDataLoss.
Result<void> check_own_case(const Case& at, const crypto::SecretKey& key) {
  const ledger::Dispute& dispute = at.dispute;
  const protocol::ReceiptBody body = dispute.receipt.body();
  const core::Digest receipt = protocol::receipt_id(body);
  const bool is_provider = dispute.accused == dispute.receipt.job.provider;
  // Signatures are a function of key and words (RFC 6979).
  const core::Digest subject =
      is_provider
          ? receipt
          : protocol::report_id(protocol::sign_report(key, {receipt, dispute.output_root, {}, {}}));
  const bool opens = protocol::commit_step(body.job_id, body.step, dispute.output_root,
                                           dispute.output_salt) == body.commitment;
  if (dispute.accused == key.address() && at.key.subject == subject && opens) return {};
  return core::fail(ErrorCode::kDataLoss, "an accusation that is not about what was signed here");
}

/// That what it was computed from is what both have signed: of another gift from whom it may harm
/// an honest side would make other outputs, and concede. What c_0 alone opens Engine::argue holds
/// against the dispute, once.
Result<tensor::NamedTensors> inputs_of(const Case& at, const receipt::StepTask& task) {
  const protocol::Receipt& receipt = at.dispute.receipt;
  if (!(task.job == receipt.job) || task.step != receipt.step) {
    return core::fail(ErrorCode::kDataLoss, "what is shown of an accusation is of another step");
  }
  if (arbiter::has_fixed_input(receipt.job)) return task.inputs;
  return receipt::step_inputs(task);
}

}  // namespace

Result<ledger::Body> Party::next(const Case& at, Side side, const receipt::StepTask& task,
                                 const core::Path& model, const crypto::SecretKey& key,
                                 const graph::RunOptions& options) {
  const core::Digest& subject = at.key.subject;
  const crypto::Address& accuser = at.key.accuser;
  if (side == Side::kProvider) COMMENSAL_TRY(check_own_case(at, key));
  COMMENSAL_ASSIGN(const tensor::NamedTensors inputs, inputs_of(at, task));
  COMMENSAL_ASSIGN(rollout::Engine* const engine,
                   engines_(at.dispute.receipt.job, model, options.cancel));
  rollout::Argument argument;
  argument.setup = setup_of(at.dispute);
  argument.side = side;
  COMMENSAL_ASSIGN(argument.inputs, receipt::order_inputs(engine->graph(), inputs));
  argument.moves = said_by_sides(at.moves);
  COMMENSAL_ASSIGN(const rollout::Counsel counsel, engine->argue(argument, options));
  if (at.status == CaseStatus::kAccused) {
    const bool stands_by_it = counsel.output_root == at.dispute.output_root;
    return stands_by_it ? ledger::Body(ledger::Contest{subject, accuser})
                        : ledger::Body(ledger::Concede{subject, accuser});
  }
  if (!counsel.move) {
    return core::fail(ErrorCode::kInternal, "a dispute whose engine sees no turn in it");
  }
  COMMENSAL_ASSIGN(core::Bytes move, arbiter::sign_move(key, *counsel.move));
  return ledger::Body(ledger::Argue{subject, accuser, std::move(move)});
}

}  // namespace commensal::cases
