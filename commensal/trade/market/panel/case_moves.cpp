// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/trade/market/panel/case.hpp>

namespace commensal::panel {
namespace {

using core::ErrorCode;
using core::fail;

}  // namespace

/// When a move is allowed, and what it does.
struct Case::Rule {
  MoveKind kind;
  Stage stage;
  Stage also;
  Handler run;
};

Result<void> Case::run(const Move& move, const Event& event) {
  static const Rule kRules[] = {
      {MoveKind::kAccept, Stage::kClient, Stage::kAppeal, &Case::accept},
      {MoveKind::kObject, Stage::kClient, Stage::kClient, &Case::ask},
      {MoveKind::kCommit, Stage::kCommit, Stage::kCommit, &Case::commit},
      {MoveKind::kReveal, Stage::kReveal, Stage::kReveal, &Case::reveal},
      {MoveKind::kAppeal, Stage::kAppeal, Stage::kAppeal, &Case::ask},
      {MoveKind::kDecide, Stage::kArbiter, Stage::kArbiter, &Case::decide},
  };
  if (move.case_id != id_) {
    return fail(ErrorCode::kInvalidArgument, "it is about case {}, expected {}",
                core::to_hex(move.case_id), core::to_hex(id_));
  }
  if (move.instance != instances_.size()) {
    return fail(ErrorCode::kFailedPrecondition, "it is for instance {}, expected {}", move.instance,
                instances_.size());
  }
  const auto* rule = std::ranges::find(kRules, move.kind, &Rule::kind);
  core::check(rule != std::end(kRules), "a kind of move without a row in the table");
  if (stage_ != rule->stage && stage_ != rule->also) {
    return fail(ErrorCode::kFailedPrecondition, "'{}' is not allowed in stage '{}'",
                protocol::name_of(move.kind), protocol::name_of(stage_));
  }
  COMMENSAL_TRY(verify_move(move, terms_.chain_id));
  return (this->*rule->run)(move, event);
}

Result<void> Case::accept(const Move& move, const Event&) {
  if (move.actor != *turn()) {
    return fail(ErrorCode::kPermissionDenied, "by {}, expected {}", crypto::to_text(move.actor),
                crypto::to_text(*turn()));
  }
  close(Ending::kAccepted);
  return {};
}

Result<void> Case::ask(const Move& move, const Event& event) {
  if (move.actor != *turn()) {
    return fail(ErrorCode::kPermissionDenied, "by {}, expected {}", crypto::to_text(move.actor),
                crypto::to_text(*turn()));
  }
  const Amount stake = *stake_asked();  // these stages are entered only where there is a next one
  Instance next = *next_instance();
  next.asker = move.actor;
  enter_instance(std::move(next), stake, event);
  return {};
}

Result<Ballot*> Case::ballot_of(const Address& member) {
  auto& ballots = instances_.back().ballots;
  const auto found = std::ranges::find(ballots, member, &Ballot::member);
  if (found != ballots.end()) return &*found;
  return fail(ErrorCode::kPermissionDenied, "by {}, expected one of the {} members drawn",
              crypto::to_text(member), ballots.size());
}

Result<void> Case::commit(const Move& move, const Event& event) {
  COMMENSAL_ASSIGN(Ballot* const ballot, ballot_of(move.actor));
  if (ballot->commitment) {
    return fail(ErrorCode::kAlreadyExists, "{} has committed, expected one commitment",
                crypto::to_text(move.actor));
  }
  ballot->commitment = move.word;
  const bool all = std::ranges::all_of(
      instances_.back().ballots, [](const Ballot& one) { return one.commitment.has_value(); });
  if (all) enter(Stage::kReveal, event.at_ms);
  return {};
}

Result<void> Case::reveal(const Move& move, const Event& event) {
  COMMENSAL_ASSIGN(Ballot* const ballot, ballot_of(move.actor));
  if (!ballot->commitment) {
    return fail(ErrorCode::kFailedPrecondition, "{} has not committed in time",
                crypto::to_text(move.actor));
  }
  if (ballot->ruling) {
    return fail(ErrorCode::kAlreadyExists, "{} has revealed, expected one vote",
                crypto::to_text(move.actor));
  }
  const Digest opened = vote_commitment(id_, instances_.size(), move.actor, move.ruling, move.word);
  if (opened != *ballot->commitment) {
    return fail(ErrorCode::kInvalidArgument, "the vote hashes to {}, expected {}",
                core::to_hex(opened), core::to_hex(*ballot->commitment));
  }
  ballot->ruling = move.ruling;
  const bool all = std::ranges::all_of(instances_.back().ballots, [](const Ballot& one) {
    return one.ruling.has_value() || !one.commitment.has_value();
  });
  if (all) count_votes(event);
  return {};
}

Result<void> Case::decide(const Move& move, const Event&) {
  COMMENSAL_ASSIGN(Ballot* const ballot, ballot_of(move.actor));
  ballot->ruling = move.ruling;
  instances_.back().ruling = move.ruling;
  close(Ending::kDecided);
  return {};
}

Result<void> Case::run(const Draw& draw, const Event& event) {
  if (stage_ != Stage::kDraw) {
    return fail(ErrorCode::kFailedPrecondition, "a draw is not allowed in stage '{}'",
                protocol::name_of(stage_));
  }
  Instance& instance = instances_.back();
  if (draw.round != instance.draw_round) {
    return fail(ErrorCode::kInvalidArgument, "the beacon is of round {}, expected {}", draw.round,
                instance.draw_round);
  }
  for (const Address& member :
       draw_members(id_, instances_.size(), draw.beacon, pool(), instance.size)) {
    instance.ballots.push_back({member, {}, {}});
  }
  enter(Stage::kCommit, event.at_ms);
  return {};
}

Result<void> Case::run(const protocol::JointSettlement& settlement, const Event&) {
  if (settlement.ticket != terms_.ticket) {
    return fail(ErrorCode::kInvalidArgument, "it settles ticket {}, expected {}",
                core::to_hex(settlement.ticket), core::to_hex(terms_.ticket));
  }
  if (settlement.client != terms_.client || settlement.holder != terms_.holder) {
    return fail(ErrorCode::kInvalidArgument, "it is between {} and {}, expected {} and {}",
                crypto::to_text(settlement.client), crypto::to_text(settlement.holder),
                crypto::to_text(terms_.client), crypto::to_text(terms_.holder));
  }
  COMMENSAL_TRY(protocol::verify_settlement(settlement, terms_.chain_id));
  pay(settlement.to_holder, settlement.to_client, Ending::kSettled);
  return {};
}

Result<void> Case::run(const Timeout&, const Event& event) {
  if (event.at_ms < deadline_ms_) {
    return fail(ErrorCode::kFailedPrecondition, "too early: at {} ms, expected {} ms or later",
                event.at_ms, deadline_ms_);
  }
  const bool voting = stage_ == Stage::kCommit &&
                      std::ranges::any_of(instances_.back().ballots, [](const Ballot& one) {
                        return one.commitment.has_value();
                      });
  if (stage_ == Stage::kClient || stage_ == Stage::kAppeal) {
    close(Ending::kAccepted);
  } else if (voting) {
    enter(Stage::kReveal, event.at_ms);
  } else if (stage_ == Stage::kReveal) {
    count_votes(event);
  } else {
    go_without_ruling(event);
  }
  return {};
}

}  // namespace commensal::panel
