// SPDX-License-Identifier: Apache-2.0
// Who reports in a case that nothing else decides: on the list before, drawn, called, passed over.
#include <algorithm>
#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>
#include <commensal/trade/pay/ledger/draws.hpp>
#include <commensal/trade/pay/ledger/punish.hpp>
#include <commensal/trade/pay/ledger/rules.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>

namespace commensal::ledger {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

Digest receipt_of(const CaseRow& row) { return protocol::receipt_id(row.dispute.receipt.body()); }

/// As many as can decide though others part or are silent. No more: who holds back the inputs from
/// all but its friends must not come to them in the end.
std::size_t drawn_max(const State& state) { return 2 * reports_needed(state.scalars.config) + 1; }

tl::unexpected<core::Error> refused(const Address& auditor, std::string_view why) {
  return fail(ErrorCode::kPermissionDenied, "auditor: {} {}", crypto::to_text(auditor), why);
}

/// Zero: it is not revealed.
Digest value_at(const beacon::HashChainTracker& chain, std::uint64_t round) {
  return chain.value_of(round).value_or(Digest{});
}

/// Once nothing lacks, or its time is over.
Result<Digest> seed_of(const State& state, const protocol::Receipt& receipt, const DrawRow& draw,
                       std::uint64_t time_ms) {
  if (draw.seed) return *draw.seed;
  DrawParts parts;
  parts.receipt = protocol::receipt_id(receipt.body());
  parts.round = draw.round;
  parts.nonce = draw.nonce.value_or(Digest{});
  std::string_view lacks;
  if (draw.round != 0) {
    COMMENSAL_ASSIGN(const Pair pair, pair_of(state, receipt));
    parts.gateway = value_at(pair.gateway, draw.round);
    parts.provider = value_at(pair.provider, draw.round);
    if (parts.gateway == Digest{} || parts.provider == Digest{}) lacks = "a reveal of its round";
  }
  if (!draw.nonce && draw.commitment != Digest{}) lacks = "the consumer's nonce";
  if (lacks.empty() || time_ms >= draw.open_ms) return draw_seed(parts);
  return fail(ErrorCode::kFailedPrecondition, "draw: {} is waited for until {} ms, it is {} ms",
              lacks, draw.open_ms, time_ms);
}

Result<void> check_time(const CaseRow& row, std::uint64_t time_ms) {
  if (row.report_ms != 0) {
    return fail(ErrorCode::kAlreadyExists, "draw: its auditors are drawn already");
  }
  const bool is_silent = row.status == CaseStatus::kAccused && time_ms >= row.contest_ms;
  if (row.status == CaseStatus::kUndecided || is_silent) return {};
  return fail(ErrorCode::kFailedPrecondition,
              "draw: the case is {}, auditors are drawn where no dispute ends it or the accused "
              "is silent until {} ms",
              protocol::name_of(row.status), row.contest_ms);
}

/// Burnt, all of it: nobody gains by an auditor's silence.
Result<void> punish_absence(Context& context, const Address& auditor) {
  const Amount cost = share_of(context.config().auditor_stake, kAbsenceCostPm);
  COMMENSAL_TRY(context.take_locked(auditor, AccountKind::kStake, kBurnt, cost));
  return {};
}

/// The job admits it, and it has no part in the case.
Result<void> check_outsider(const State& state, const CaseKey& key, const CaseRow& row,
                            const Address& auditor) {
  const protocol::Job& job = row.dispute.receipt.job;
  const Config& config = state.scalars.config;
  if (auditor == key.accuser || auditor == row.dispute.accused || auditor == job.provider ||
      auditor == job.client || auditor == config.operator_address) {
    return refused(auditor, "is no auditor from outside");
  }
  if (job.auditors == protocol::AuditorClass::kNobody) {
    return refused(auditor, "has no say: the job admits nobody");
  }
  if (job.auditors == protocol::AuditorClass::kOwnerList &&
      std::ranges::find(job.auditor_list, auditor) == job.auditor_list.end()) {
    return refused(auditor, "is not on the list of the job's owner");
  }
  return {};
}

/// Whoever could be called by now, of those on the list before the accusation.
Result<std::vector<Candidate>> candidates_of(const State& state, const CaseKey& key,
                                             const CaseRow& row, const DrawRow& draw) {
  std::vector<Candidate> candidates;
  for (const auto& [auditor, listed] : state.bench.rows()) {
    if (listed.since >= draw.before || !check_candidate(state, key, row, auditor)) continue;
    candidates.push_back({auditor, lots_of(listed.stake, state.scalars.config)});
  }
  const std::size_t needed = reports_needed(state.scalars.config);
  if (candidates.size() >= needed) return candidates;
  return fail(ErrorCode::kFailedPrecondition,
              "draw: {} auditors were on the list before the accusation, {} are needed",
              candidates.size(), needed);
}

struct Drawing {
  Digest seed{};
  std::vector<Candidate> candidates;
};
/// What is needed for a draw now. Errors: kFailedPrecondition (not yet, or too few could be),
/// kAlreadyExists.
Result<Drawing> drawing_of(const State& state, const CaseKey& key, const CaseRow& row,
                           std::uint64_t time_ms) {
  COMMENSAL_TRY(check_time(row, time_ms));
  const DrawRow draw = state.draws.get(receipt_of(row));
  COMMENSAL_ASSIGN(const Digest seed, seed_of(state, row.dispute.receipt, draw, time_ms));
  COMMENSAL_ASSIGN(auto candidates, candidates_of(state, key, row, draw));
  return Drawing{seed, std::move(candidates)};
}

}  // namespace

Result<void> check_candidate(const State& state, const CaseKey& key, const CaseRow& row,
                             const Address& auditor) {
  COMMENSAL_TRY(check_outsider(state, key, row, auditor));
  const Config& config = state.scalars.config;
  const Amount stake = state.balance(auditor, AccountKind::kStake);
  if (stake >= config.auditor_stake) return {};
  return refused(auditor,
                 fmt::format("has a stake of {}, at least {} answers for a report",
                             protocol::to_text(stake), protocol::to_text(config.auditor_stake)));
}

Result<void> check_reporter(const State& state, const CaseKey& key, const CaseRow& row,
                            const Address& auditor) {
  COMMENSAL_TRY(check_outsider(state, key, row, auditor));
  if (std::ranges::find(row.findings, auditor, &Finding::auditor) != row.findings.end()) {
    return fail(ErrorCode::kAlreadyExists, "report: {} has made one in this case",
                crypto::to_text(auditor));
  }
  if (std::ranges::find(row.called, auditor) != row.called.end()) return {};
  return refused(auditor, row.report_ms == 0
                              ? "was not drawn for this case: nobody is, yet"
                              : "was not drawn for this case, or it is not its turn");
}

Result<void> prepare_draw(Context& context, const protocol::Receipt& receipt) {
  const Digest id = protocol::receipt_id(receipt.body());
  if (context.state.draws.find(id) != nullptr) return {};
  DrawRow draw;
  draw.before = context.sequence();
  draw.commitment = receipt.job.draw_commitment;
  COMMENSAL_ASSIGN(draw.open_ms, after(context, context.config().contest_delay_ms));
  if (const auto pair = pair_of(context.state, receipt)) {
    draw.round = 1 + std::max({receipt.round, pair->gateway.round(), pair->provider.round()});
  }
  context.state.draws.set(id, draw);
  return {};
}

Result<void> give_time(Context& context, Case& open) {
  const Digest id = receipt_of(open.row);
  DrawRow draw = context.state.draws.get(id);
  COMMENSAL_ASSIGN(const std::uint64_t until_ms, after(context, context.config().report_delay_ms));
  if (open.row.report_ms != 0) open.row.report_ms = until_ms;
  if (draw.seed || draw.open_ms >= until_ms) return {};
  draw.open_ms = until_ms;
  context.state.draws.set(id, draw);
  return {};
}

Result<void> call_next(Context& context, Case& open) {
  CaseRow& row = open.row;
  if (row.report_ms == 0 || !row.called.empty()) return {};
  const std::size_t most = most_that_agree(row);
  const std::size_t needed = reports_needed(context.config());
  while (most + row.called.size() < needed && !row.drawn.empty()) {
    const Address next = row.drawn.front();
    row.drawn.erase(row.drawn.begin());
    if (check_candidate(context.state, open.key, row, next)) row.called.push_back(next);
  }
  COMMENSAL_ASSIGN(row.report_ms, after(context, context.config().report_delay_ms));
  return {};
}

Result<void> pass_over(Context& context, Case open) {
  for (const Address& auditor : std::exchange(open.row.called, {})) {
    COMMENSAL_TRY(punish_absence(context, auditor));
  }
  COMMENSAL_TRY(call_next(context, open));
  keep(context, open);
  return {};
}

Result<void> rule(Context& context, const Enlist& body) {
  if (body.listed > 1) {
    return fail(ErrorCode::kInvalidArgument, "listed: {}, expected 0 or 1", body.listed);
  }
  Table<Address, BenchRow>& bench = context.state.bench;
  const Address& sender = context.sender();
  const BenchRow* const row = bench.find(sender);
  if (body.listed == 0) {
    bench.erase(sender);
    return {};
  }
  const Amount stake = context.state.balance(sender, AccountKind::kStake);
  const Amount needed = std::max(context.config().auditor_stake, Amount(1));
  if (stake < needed) {
    return fail(ErrorCode::kFailedPrecondition, "stake: {}, an auditor has at least {} locked",
                protocol::to_text(stake), protocol::to_text(needed));
  }
  if (row != nullptr && row->stake >= stake) {
    return fail(ErrorCode::kAlreadyExists, "auditor: on the list since entry {}, with {}",
                row->since, protocol::to_text(row->stake));
  }
  if (row == nullptr && bench.rows().size() >= limits::kAuditorsListedMax) {
    return fail(ErrorCode::kResourceExhausted, "auditors: at most {} are on the list",
                limits::kAuditorsListedMax);
  }
  bench.set(sender, {context.sequence(), stake});
  return {};
}

Result<void> rule(Context& context, const Disclose& body) {
  const DrawRow* const row = context.state.draws.find(body.receipt);
  if (row == nullptr) {
    return fail(ErrorCode::kNotFound, "receipt: nobody has accused {}", core::to_hex(body.receipt));
  }
  if (row->nonce || row->seed) {
    return fail(ErrorCode::kAlreadyExists, "draw: {}",
                row->nonce ? "the nonce is known" : "its auditors are drawn already");
  }
  if (row->commitment == Digest{} || protocol::commit_nonce(body.nonce) != row->commitment) {
    return fail(ErrorCode::kInvalidArgument, "nonce: it does not open what the job commits to");
  }
  DrawRow known = *row;
  known.nonce = body.nonce;
  context.state.draws.set(body.receipt, known);
  return {};
}

/// By who runs the ledger alone, as nobody else knows whether the inputs can be shown: who is
/// called and cannot compute would pay for its silence.
Result<void> rule(Context& context, const Summon& body) {
  COMMENSAL_TRY(context.by_operator());
  COMMENSAL_ASSIGN(Case open, pending_case(context, body.subject, body.accuser));
  COMMENSAL_ASSIGN(Drawing drawing,
                   drawing_of(context.state, open.key, open.row, context.time_ms()));
  const Digest id = receipt_of(open.row);
  DrawRow draw = context.state.draws.get(id);
  draw.seed = drawing.seed;
  context.state.draws.set(id, draw);
  open.row.drawn = draw_order(drawing.seed, drawing.candidates);
  open.row.drawn.resize(std::min(open.row.drawn.size(), drawn_max(context.state)));
  open.row.report_ms = context.time_ms();
  COMMENSAL_TRY(call_next(context, open));
  keep(context, open);
  return {};
}

std::optional<Body> due_step(const State& state, const CaseKey& key, const CaseRow& row,
                             std::uint64_t time_ms) {
  if (!is_pending(row.status)) return std::nullopt;
  const auto on_case = [&](auto body) {
    body.subject = key.subject;
    body.accuser = key.accuser;
    return std::optional<Body>(body);
  };
  if (row.status == CaseStatus::kContested) {
    return time_ms >= row.move_ms ? on_case(Expire{}) : std::nullopt;
  }
  if (drawing_of(state, key, row, time_ms)) return on_case(Summon{});
  const bool is_late = !row.called.empty() && time_ms >= row.report_ms;
  const bool is_ruined = row.status == CaseStatus::kAccused &&
                         state.balance(row.dispute.accused, AccountKind::kStake) == Amount();
  const bool has_reports = most_that_agree(row) >= reports_needed(state.scalars.config);
  const bool is_heard = time_ms >= row.contest_ms && (is_ruined || has_reports);
  return is_late || is_heard ? on_case(Expire{}) : std::nullopt;
}

}  // namespace commensal::ledger
