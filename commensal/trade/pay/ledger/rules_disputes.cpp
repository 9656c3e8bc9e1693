// SPDX-License-Identifier: Apache-2.0
// Answers that are said to be wrong: accused, contested, disputed, reported on.
#include <algorithm>
#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>
#include <commensal/trade/pay/ledger/rules.hpp>

namespace commensal::ledger {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

Result<const Arbiter*> arbiter_of(const Context& context) {
  if (context.arbiter() != nullptr) return context.arbiter();
  return fail(ErrorCode::kUnsupported, "this ledger has no arbiter");
}

Result<Case> case_of_the_accused(const Context& context, const Digest& subject,
                                 const Address& accuser) {
  COMMENSAL_ASSIGN(Case found, pending_case(context, subject, accuser));
  if (context.sender() == found.accused()) return found;
  return fail(ErrorCode::kPermissionDenied, "sender: {}, expected the accused {}",
              crypto::to_text(context.sender()), crypto::to_text(found.accused()));
}

/// A ticket says whether its provider was convicted; of a report only its cases do.
Result<void> check_report_is_new(const Context& context, const Digest& subject) {
  const auto& rows = context.state.cases.rows();
  for (auto row = rows.lower_bound({subject, {}});
       row != rows.end() && row->first.subject == subject; ++row) {
    if (row->second.status != CaseStatus::kConvicted) continue;
    return fail(ErrorCode::kAlreadyExists, "case: the auditor was convicted of it already");
  }
  return {};
}

/// That nothing stands against this accusation but that it may be false.
Result<void> check_new(const Context& context, const Case& made) {
  const std::uint64_t until_ms = made.row.dispute.receipt.job.valid_until_ms;
  if (until_ms != 0 && context.time_ms() > until_ms) {
    return fail(ErrorCode::kDeadlineExceeded,
                "receipt: its job was valid until {}, and it is {} (ms since 1970)", until_ms,
                context.time_ms());
  }
  if (made.key.accuser == made.accused()) {
    return fail(ErrorCode::kPermissionDenied, "sender: it is the accused itself");
  }
  if (const CaseRow* row = context.state.cases.find(made.key)) {
    return fail(ErrorCode::kAlreadyExists, "case: the sender has accused this receipt: {}",
                protocol::name_of(row->status));
  }
  if (made.is_of_report()) return check_report_is_new(context, made.key.subject);
  const ClaimRow* claim = context.state.claims.find(made.row.ticket);
  if (claim == nullptr || claim->status != ClaimStatus::kRefused) return {};
  return fail(ErrorCode::kAlreadyExists, "ticket: {} is refused already",
              core::to_hex(made.row.ticket));
}

/// That its auditor signed these outputs of this receipt, and is not its provider.
Result<void> check_report(const Context& context, const Accuse& body) {
  if (!body.report) return {};
  const protocol::AuditReport& report = *body.report;
  if (report.receipt_id != protocol::receipt_id(body.receipt.body()) ||
      report.output_root != body.output_root || report.auditor == body.receipt.job.provider) {
    return fail(ErrorCode::kInvalidArgument, "report: it does not confirm this receipt's outputs");
  }
  return protocol::verify_report(report, context.config().chain_id);
}

/// Where no dispute can be played, auditors are left. Error: neither can be.
Result<CaseStatus> first_status(const Context& context, const Dispute& dispute,
                                core::ByteView origin) {
  COMMENSAL_ASSIGN(const Arbiter* arbiter, arbiter_of(context));
  const auto fits = arbiter->check(dispute, origin);
  if (fits) return CaseStatus::kAccused;
  if (fits.error().code != ErrorCode::kUnsupported) return tl::unexpected(fits.error());
  if (dispute.receipt.job.auditors != protocol::AuditorClass::kNobody) {
    return CaseStatus::kUndecided;
  }
  return fail(ErrorCode::kUnsupported, "{}, and the job admits no auditor", fits.error().message);
}

/// Who owes a move has so long from now, or until no move is accepted any more.
Result<void> renew(const Context& context, Case& open) {
  COMMENSAL_ASSIGN(const std::uint64_t move_ms, after(context, context.config().move_delay_ms));
  open.row.move_ms = std::min(move_ms, open.row.end_ms);
  return {};
}

/// What a dispute that is over leads to.
Result<void> close(Context& context, Case open, const Standing& standing) {
  if (standing.end == DisputeEnd::kUndecided) return leave_to_auditors(context, std::move(open));
  if (standing.provider_is_wrong) {
    return convict(context, std::move(open),
                   standing.accuser_is_wrong ? Ground::kBothWrong : Ground::kProof);
  }
  if (standing.accuser_is_wrong) return acquit(context, std::move(open), Ground::kProof);
  return fail(ErrorCode::kInternal, "arbiter: a proof that nobody is wrong");
}

}  // namespace

Result<void> rule(Context& context, const Accuse& body) {
  const protocol::Receipt& receipt = body.receipt;
  const protocol::ReceiptBody of_receipt = receipt.body();
  const Config& config = context.config();
  Case made{{subject_of(body), context.sender()}, {}};
  made.row.dispute = {receipt,         context.sender(), accused_of(body), body.input_root,
                      body.input_salt, body.output_root, body.output_salt};
  if (!body.report) made.row.ticket = protocol::ticket_id(of_receipt);
  COMMENSAL_TRY(check_new(context, made));
  if (body.origin.size() > limits::kOriginBytesMax) {
    return fail(ErrorCode::kResourceExhausted, "origin: {} bytes, at most {} are accepted",
                body.origin.size(), limits::kOriginBytesMax);
  }
  if (protocol::commit_step(of_receipt.job_id, of_receipt.step, body.output_root,
                            body.output_salt) != receipt.commitment) {
    return fail(ErrorCode::kInvalidArgument,
                "the output's root and salt do not open the receipt's commitment");
  }
  COMMENSAL_TRY(check_report(context, body));
  COMMENSAL_TRY(protocol::verify_receipt(receipt, of_receipt, config.chain_id, nullptr));
  COMMENSAL_ASSIGN(made.row.status, first_status(context, made.row.dispute, body.origin));
  COMMENSAL_ASSIGN(made.row.contest_ms, after(context, config.contest_delay_ms));
  made.row.since_ms = context.time_ms();
  made.row.bond = config.accusation_bond;
  COMMENSAL_TRY(prepare_draw(context, receipt));
  return begin_case(context, made);
}

Result<void> rule(Context& context, const Contest& body) {
  COMMENSAL_ASSIGN(Case open, case_of_the_accused(context, body.subject, body.accuser));
  if (open.row.status == CaseStatus::kUndecided) {
    return fail(ErrorCode::kFailedPrecondition,
                "case: no dispute ends it, auditors decide it by their reports");
  }
  if (open.row.status != CaseStatus::kAccused) {
    return fail(ErrorCode::kAlreadyExists, "case: it is contested already");
  }
  open.row.status = CaseStatus::kContested;
  COMMENSAL_ASSIGN(open.row.end_ms, after(context, context.config().dispute_delay_ms));
  COMMENSAL_TRY(renew(context, open));
  keep(context, open);
  return {};
}

Result<void> rule(Context& context, const Concede& body) {
  COMMENSAL_ASSIGN(Case open, case_of_the_accused(context, body.subject, body.accuser));
  return convict(context, std::move(open), Ground::kWord);
}

namespace {

/// The case that a move belongs to, where it may be made now.
Result<Case> disputed(const Context& context, const Argue& body) {
  COMMENSAL_ASSIGN(Case open, pending_case(context, body.subject, body.accuser));
  if (context.sender() != open.key.accuser && context.sender() != open.accused()) {
    return fail(ErrorCode::kPermissionDenied, "sender: {}, expected the accuser or the accused",
                crypto::to_text(context.sender()));
  }
  if (open.row.status != CaseStatus::kContested) {
    return fail(ErrorCode::kFailedPrecondition, "case: it is {}, moves are for contested ones",
                protocol::name_of(open.row.status));
  }
  if (context.time_ms() >= open.row.end_ms) {
    return fail(ErrorCode::kDeadlineExceeded, "case: moves had time until {} ms, it is {} ms",
                open.row.end_ms, context.time_ms());
  }
  if (body.move.size() > limits::kDisputeMoveBytesMax) {
    return fail(ErrorCode::kResourceExhausted, "move: {} bytes, at most {} are accepted",
                body.move.size(), limits::kDisputeMoveBytesMax);
  }
  if (open.row.moves < limits::kCaseMovesMax) return open;
  return fail(ErrorCode::kResourceExhausted, "moves: at most {} are accepted",
              limits::kCaseMovesMax);
}

}  // namespace

Result<void> rule(Context& context, const Argue& body) {
  COMMENSAL_ASSIGN(const Arbiter* arbiter, arbiter_of(context));
  COMMENSAL_ASSIGN(Case open, disputed(context, body));
  std::vector<Arbiter::Said> said = moves_of(context.state, open.key);
  const bool by_accuser = context.sender() == open.key.accuser;
  said.push_back({by_accuser, body.move});
  COMMENSAL_ASSIGN(const Standing standing, arbiter->stand(open.row.dispute, said));
  if (standing.end != DisputeEnd::kNone) return close(context, std::move(open), standing);
  context.state.moves.set({open.key, open.row.moves},
                          {static_cast<std::uint8_t>(by_accuser), body.move});
  ++open.row.moves;
  COMMENSAL_TRY(renew(context, open));
  keep(context, open);
  return {};
}

namespace {

/// Who was silent too long. The accuser has lost; silence of the accused only keeps its stake where
/// it is, because the accuser may run the ledger and cut it off.
Result<void> expire_dispute(Context& context, Case open) {
  if (context.time_ms() < open.row.move_ms) {
    return fail(ErrorCode::kFailedPrecondition, "case: a move has time until {} ms, it is {} ms",
                open.row.move_ms, context.time_ms());
  }
  COMMENSAL_ASSIGN(const Arbiter* arbiter, arbiter_of(context));
  const std::vector<Arbiter::Said> said = moves_of(context.state, open.key);
  const auto stood = arbiter->stand(open.row.dispute, said);
  // It took them before: this build has another arbiter, and silence may be due to that alone.
  if (!stood) return leave_to_auditors(context, std::move(open));
  const Standing& standing = *stood;
  if (standing.end != DisputeEnd::kNone) return close(context, std::move(open), standing);
  if (standing.accuser_owes) return acquit(context, std::move(open), Ground::kWord);
  return leave_to_auditors(context, std::move(open));
}

}  // namespace

Result<void> rule(Context& context, const Expire& body) {
  COMMENSAL_ASSIGN(Case open, pending_case(context, body.subject, body.accuser));
  if (open.row.status == CaseStatus::kContested) return expire_dispute(context, std::move(open));
  const CaseKey key = open.key;
  if (context.time_ms() >= open.row.contest_ms) {
    COMMENSAL_TRY(decide_by_reports(context, open));
    const Case left{key, context.state.cases.get(key)};
    if (!is_pending(left.row.status)) return {};
    // Who has nothing left to lose would keep what is reserved for it by saying nothing.
    COMMENSAL_ASSIGN(const Amount stake, context.locked(left.accused(), AccountKind::kStake));
    const bool is_silent = left.row.status == CaseStatus::kAccused;
    if (is_silent && stake == Amount()) return convict(context, left, Ground::kWord);
  }
  const bool is_late = !open.row.called.empty() && context.time_ms() >= open.row.report_ms;
  if (is_late) return pass_over(context, std::move(open));
  return fail(ErrorCode::kFailedPrecondition, "case: nobody owes anything in time");
}

Result<void> rule(Context& context, const Report& body) {
  COMMENSAL_ASSIGN(Case open, pending_case(context, body.subject, body.accuser));
  COMMENSAL_TRY(check_reporter(context.state, open.key, open.row, context.sender()));
  open.row.findings.push_back({context.sender(), body.output_root});
  std::erase(open.row.called, context.sender());
  COMMENSAL_TRY(call_next(context, open));
  if (open.row.status == CaseStatus::kContested) {
    keep(context, open);  // decides nothing while both argue
    return {};
  }
  return decide_by_reports(context, std::move(open));
}

}  // namespace commensal::ledger
