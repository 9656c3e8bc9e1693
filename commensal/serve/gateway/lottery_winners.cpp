// SPDX-License-Identifier: Apache-2.0
// The winners of a Lottery: claimed, opened in the ledger, judged.
#include <algorithm>
#include <commensal/serve/gateway/lottery.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;
using core::Result;
using protocol::Amount;
using ticket::Event;
using ticket::State;

namespace {

/// Where claims end, and what led there.
struct Ending {
  State state;
  Event event;
};
constexpr Ending kEndings[] = {{State::kPaid, Event::kPay},
                               {State::kPenalised, Event::kPenalise},
                               {State::kSlashed, Event::kSlash}};

/// As its provider is told; nothing while it is not decided.
std::optional<rpc::Outcomes::Item> outcome_of(const core::Digest& id,
                                              const ticket::Record& record) {
  const Ending* const ending = std::ranges::find(kEndings, record.state, &Ending::state);
  if (ending == std::end(kEndings)) return std::nullopt;
  return rpc::Outcomes::Item{id, std::string(protocol::name_of(ending->event)), record.paid};
}

}  // namespace

void Lottery::on_claims(const crypto::Address& provider, const rpc::Claims& claims) {
  const auto beacon = beacons_.find(provider);
  if (beacon == beacons_.end()) return;
  rpc::Outcomes known;
  for (const rpc::Claims::Item& item : claims.items) {
    const core::Digest id = protocol::ticket_id(item.receipt.body());
    const ticket::Record* const record = tickets_.find(id);
    if (record == nullptr || record->body != item.receipt.body()) continue;
    if (auto outcome = outcome_of(id, *record)) known.items.push_back(*std::move(outcome));
    if (record->state != State::kWon) continue;
    if (auto opened = open_winner(beacon->second, item); !opened) world_.report(opened.error());
  }
  if (!known.items.empty()) world_.send(provider, std::move(known));
}

Result<void> Lottery::open_winner(const beacon::TwoPartyBeacon& beacon,
                                  const rpc::Claims::Item& item) {
  protocol::Claim claim;
  claim.receipt = item.receipt;
  claim.output_root = item.output_root;
  claim.output_salt = item.output_salt;
  COMMENSAL_ASSIGN(claim.gateway_reveal, beacon.gateway().value_of(item.receipt.round));
  COMMENSAL_ASSIGN(claim.provider_reveal, beacon.provider().value_of(item.receipt.round));
  const core::Digest id = protocol::ticket_id(item.receipt.body());
  COMMENSAL_TRY(world_.bank.durably([&]() -> Result<void> {
    COMMENSAL_TRY(world_.bank.submit(ledger::Open{claim, {}}));
    const ticket::Move move{id, Event::kOpen, {}};
    return tickets_.move({&move, 1});
  }));
  const core::Digest receipt = protocol::receipt_id(item.receipt.body());
  if (world_.was_delivered(receipt)) return world_.audit(receipt);
  return fail(ErrorCode::kNotFound, "winner {} was never delivered: it waits unaudited",
              core::to_hex(receipt));
}

Result<std::optional<Judgement>> Lottery::judge(const protocol::Receipt& receipt,
                                                const protocol::Verdict& verdict) {
  const core::Digest id = protocol::ticket_id(receipt.body());
  const ticket::Record* const record = is_on() ? tickets_.find(id) : nullptr;
  if (record == nullptr || record->state != State::kOpened) return std::nullopt;
  Judgement judgement;
  COMMENSAL_TRY(world_.bank.durably([&]() -> Result<void> {
    COMMENSAL_ASSIGN(const ledger::Entry entry,
                     world_.bank.submit(ledger::Judge{receipt, verdict}));
    COMMENSAL_ASSIGN(judgement, settle(id, entry));
    return {};
  }));
  world_.send(receipt.job.provider, rpc::Outcomes{{*outcome_of(id, *tickets_.find(id))}});
  return judgement;
}

Result<Judgement> Lottery::settle(const core::Digest& ticket, const ledger::Entry& entry) {
  const ledger::State& state = world_.bank.state();
  const ledger::ClaimRow& claim = *state.claims.find(ticket);
  Judgement made;
  for (const ledger::Posting& posting : entry.postings) {
    if (posting.from.owner != claim.provider) continue;
    COMMENSAL_ASSIGN(made.taken, made.taken.plus(posting.amount));
    if (posting.to == ledger::kBurnt) {
      COMMENSAL_ASSIGN(made.burnt, made.burnt.plus(posting.amount));
    } else if (posting.to.owner != claim.gateway) {
      COMMENSAL_ASSIGN(made.bounty, made.bounty.plus(posting.amount));
    }
  }
  const bool is_pattern =
      state.audits.get(claim.provider).mismatches >= state.scalars.config.pattern_mismatches;
  made.event = claim.status == ledger::ClaimStatus::kPaid ? Event::kPay
               : is_pattern                               ? Event::kSlash
                                                          : Event::kPenalise;
  const bool paid = made.event == Event::kPay;
  const ticket::Move moves[] = {{ticket, Event::kAudit, {}},
                                {ticket, made.event, paid ? claim.face : Amount()}};
  COMMENSAL_TRY(tickets_.move({moves, 1}));
  COMMENSAL_TRY(tickets_.move({moves + 1, 1}));
  return made;
}

}  // namespace commensal::gateway
