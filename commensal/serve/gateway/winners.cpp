// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/risk_facts.hpp>
#include <commensal/serve/gateway/winners.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;
using core::Result;
using protocol::Amount;
using ticket::Event;
using ticket::State;

namespace {

/// So many in a turn of the loop, in one write: others wait meanwhile.
constexpr std::size_t kAtOnce = 32;

/// Until it is looked again at what is due and accused.
constexpr std::uint64_t kAccusedMs = 60'000;

/// Where claims get to, and what led there.
struct Ending {
  State state;
  Event event;
};
constexpr Ending kEndings[] = {{State::kOpened, Event::kOpen},
                               {State::kSold, Event::kSell},
                               {State::kPaid, Event::kPay},
                               {State::kPenalised, Event::kPenalise},
                               {State::kSlashed, Event::kSlash}};

/// What a right answer's claim pays its provider now: nothing where another holds it.
Amount pay_of(const ledger::ClaimRow& claim) {
  return claim.holder == claim.provider ? claim.face : Amount();
}

}  // namespace

void Winners::tick() {
  if (!lottery_.is_on()) return;
  look();
  if (!tickets_.has(State::kCountersigned)) return;
  for (const auto& [id, pairing] : lottery_.pairings()) {
    events_.report(punish_silence(pairing.beacon));
  }
}

/// As its provider is told; nothing while it is not open.
std::optional<rpc::Outcomes::Item> Winners::outcome_of(const core::Digest& id,
                                                       const ticket::Record& record) const {
  const Ending* const ending = std::ranges::find(kEndings, record.state, &Ending::state);
  if (ending == std::end(kEndings)) return std::nullopt;
  const bool is_open = record.state == State::kOpened;
  return rpc::Outcomes::Item{id, std::string(protocol::name_of(ending->event)),
                             is_open ? bank_.state().asked.get(id) : record.paid};
}

/// Of a ticket that the book has forgotten.
std::optional<rpc::Outcomes::Item> Winners::outcome_in_ledger(const core::Digest& id) const {
  const ledger::ClaimRow* const claim = bank_.state().claims.find(id);
  if (claim == nullptr || claim->status != ledger::ClaimStatus::kPaid) return std::nullopt;
  return rpc::Outcomes::Item{id, std::string(protocol::name_of(Event::kPay)), pay_of(*claim)};
}

void Winners::on_claims(const crypto::Address& provider, const rpc::Claims& claims) {
  rpc::Outcomes known;
  for (const rpc::Claims::Item& item : claims.items) {
    const core::Digest id = protocol::ticket_id(item.receipt.body());
    const ticket::Record* const record = tickets_.find(id);
    auto outcome = record != nullptr ? outcome_of(id, *record) : outcome_in_ledger(id);
    if (outcome) known.items.push_back(*std::move(outcome));
    if (record == nullptr || record->body != item.receipt.body()) continue;
    if (beacon_of(provider, item) == nullptr) continue;
    if (claimed_.empty()) loop_.post([this] { open_claimed(); });
    claimed_.try_emplace(id, provider, item);
  }
  if (!known.items.empty()) roster_.tell(provider, std::move(known));
}

const beacon::TwoPartyBeacon* Winners::beacon_of(const crypto::Address& provider,
                                                 const rpc::Claims::Item& item) const {
  const ticket::Record* const record = tickets_.find(protocol::ticket_id(item.receipt.body()));
  if (record == nullptr || record->state != State::kWon) return nullptr;
  // What was not delivered is owed nothing; it may come yet.
  if (!book_.contains(protocol::receipt_id(record->body))) return nullptr;
  const auto found = lottery_.pairings().find(record->beacon);
  const bool is_its = found != lottery_.pairings().end() && found->second.provider == provider;
  return is_its ? &found->second.beacon : nullptr;
}

void Winners::open_claimed() {
  std::vector<core::Digest> opened;
  std::map<crypto::Address, rpc::Outcomes> news;
  const auto written = bank_.durably([&]() -> Result<void> {
    for (std::size_t i = 0; i < kAtOnce && !claimed_.empty(); ++i) {
      const auto [provider, item] = claimed_.extract(claimed_.begin()).mapped();
      const beacon::TwoPartyBeacon* const beacon = beacon_of(provider, item);
      if (beacon == nullptr) continue;  // meanwhile
      const auto done = open_winner(*beacon, item);
      events_.report(done);
      if (!done) continue;
      const protocol::ReceiptBody body = item.receipt.body();
      opened.push_back(protocol::receipt_id(body));
      const core::Digest id = protocol::ticket_id(body);
      news[provider].items.push_back(*outcome_of(id, *tickets_.find(id)));
    }
    return {};
  });
  events_.report(written);
  if (!claimed_.empty()) loop_.post([this] { open_claimed(); });
  if (!written) return;
  for (auto& [provider, outcomes] : news) roster_.tell(provider, std::move(outcomes));
  for (const core::Digest& receipt : opened) events_.push(event::AuditDue{receipt});
}

Result<void> Winners::open_winner(const beacon::TwoPartyBeacon& beacon,
                                  const rpc::Claims::Item& item) {
  protocol::Claim claim;
  claim.receipt = item.receipt;
  claim.output_root = item.output_root;
  claim.output_salt = item.output_salt;
  COMMENSAL_ASSIGN(claim.gateway_reveal, beacon.gateway().value_of(item.receipt.round));
  COMMENSAL_ASSIGN(claim.provider_reveal, beacon.provider().value_of(item.receipt.round));
  COMMENSAL_TRY(bank_.submit(ledger::Open{claim, {}}));
  const ticket::Move move{protocol::ticket_id(item.receipt.body()), Event::kOpen, {}};
  return tickets_.move({&move, 1});
}

Result<std::optional<Judgement>> Winners::judge(const protocol::Receipt& receipt,
                                                const protocol::Verdict& verdict) {
  const core::Digest id = protocol::ticket_id(receipt.body());
  const ledger::ClaimRow* const claim = bank_.state().claims.find(id);
  if (claim == nullptr || claim->status != ledger::ClaimStatus::kOpen) return std::nullopt;
  Judgement judgement;
  COMMENSAL_TRY(bank_.durably([&]() -> Result<void> {
    COMMENSAL_ASSIGN(const ledger::Entry entry, bank_.submit(ledger::Judge{receipt, verdict}));
    COMMENSAL_ASSIGN(judgement, settle(id, entry));
    return {};
  }));
  tell(receipt, judgement);
  return judgement;
}

Result<Judgement> Winners::on_convicted(const protocol::Receipt& receipt,
                                        const ledger::Entry& entry) {
  Judgement judgement;
  COMMENSAL_TRY(bank_.durably([&]() -> Result<void> {
    COMMENSAL_ASSIGN(judgement, settle(protocol::ticket_id(receipt.body()), entry));
    return {};
  }));
  tell(receipt, judgement);
  return judgement;
}

Result<void> Winners::resume_convicted(const protocol::Receipt& receipt) {
  return bank_.durably([&]() -> Result<void> {
    COMMENSAL_TRY(settle(protocol::ticket_id(receipt.body()), {}));
    return {};
  });
}

void Winners::tell(const protocol::Receipt& receipt, const Judgement& judgement) const {
  const core::Digest id = protocol::ticket_id(receipt.body());
  const ticket::Record* const record = tickets_.find(id);
  const std::string name(protocol::name_of(judgement.event));
  const Amount paid = record == nullptr ? Amount() : record->paid;
  roster_.tell(receipt.job.provider, rpc::Outcomes{{{id, name, paid}}});
}

Result<void> Winners::on_booked(const ledger::Entry& entry) {
  if (const auto* const asked = std::get_if<ledger::Sell>(&entry.transaction.body)) {
    events_.push(event::ClaimTraded{asked->ticket});
  }
  const auto* const bought = std::get_if<ledger::Buy>(&entry.transaction.body);
  if (bought == nullptr) return {};
  const ledger::ClaimRow& claim = *bank_.state().claims.find(bought->ticket);
  const ticket::Record* const record = tickets_.find(bought->ticket);
  const bool is_providers = entry.postings.front().to.owner == claim.provider;
  // It may have been sold by its provider before, who has bought it back.
  if (!is_providers || record == nullptr || record->state != State::kOpened) return {};
  events_.push(event::ClaimTraded{bought->ticket});
  const ticket::Move move{bought->ticket, Event::kSell, bought->price};
  return tickets_.move({&move, 1});
}

std::optional<crypto::Address> Winners::tell_traded(const core::Digest& ticket) const {
  const ledger::ClaimRow* const claim = bank_.state().claims.find(ticket);
  const ticket::Record* const record = tickets_.find(ticket);
  if (claim == nullptr || record == nullptr) return std::nullopt;
  if (auto outcome = outcome_of(ticket, *record)) {
    roster_.tell(claim->provider, rpc::Outcomes{{*std::move(outcome)}});
  }
  return claim->provider;
}

Result<Judgement> Winners::settle(const core::Digest& ticket, const ledger::Entry& entry) {
  const ledger::State& state = bank_.state();
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
  made.event = claim.status == ledger::ClaimStatus::kPaid    ? Event::kPay
               : stake_of(state, claim.provider) == Amount() ? Event::kSlash
                                                             : Event::kPenalise;
  const bool paid = made.event == Event::kPay;
  const ticket::Move moves[] = {{ticket, Event::kAudit, {}},
                                {ticket, made.event, paid ? pay_of(claim) : Amount()}};
  for (const ticket::Move& move : moves) {
    // One that was not claimed is not on its way; and the book may have forgotten it.
    const ticket::Record* const record = tickets_.find(ticket);
    if (record != nullptr && ticket::after(record->state, move.event)) {
      COMMENSAL_TRY(tickets_.move({&move, 1}));
    }
  }
  return made;
}

/// Winners that their provider does not open although it goes on acknowledging rounds. Only where
/// the answer was delivered: to one that was cut off in between our signature may never have come;
/// such a ticket is void.
Result<void> Winners::punish_silence(const beacon::TwoPartyBeacon& beacon) {
  std::vector<ticket::Move> late =
      tickets_.overdue(beacon.id(), Event::kSilence, beacon.drawn_round(), kAtOnce);
  std::erase_if(late, [this](const auto& move) { return claimed_.contains(move.ticket); });
  if (late.empty()) return {};
  return bank_.durably([&]() -> Result<void> {
    for (ticket::Move& move : late) {
      COMMENSAL_ASSIGN(const protocol::Receipt receipt, tickets_.receipt(move.ticket));
      if (const core::Digest id = protocol::receipt_id(receipt.body()); book_.contains(id)) {
        COMMENSAL_TRY(bank_.submit(ledger::Silence{receipt}));
        events_.push(event::AuditDue{id});  // it may know why it does not claim
      } else {
        move.event = Event::kLapse;
      }
      COMMENSAL_TRY(tickets_.move({&move, 1}));
    }
    return {};
  });
}

/// What was found wrong is paid by nobody, though no dispute about it could be played; but who was
/// acquitted of it is.
bool Winners::was_wrong(const core::Digest& receipt) const {
  const auto record = book_.find(receipt);
  const ledger::CaseRow* const row = bank_.state().cases.find({receipt, bank_.address()});
  const bool is_acquitted = row != nullptr && row->status == ledger::CaseStatus::kAcquitted;
  return record && record->audit == AuditState::kMismatched && !is_acquitted;
}

/// Once halfway, so that nobody is paid by staying away from its audit; then the ledger's rule.
void Winners::look() {
  const auto now_ms = static_cast<std::uint64_t>(clock_.wall_ms());
  if (now_ms < next_look_ms_) return;
  const ledger::State& state = bank_.state();
  const std::uint64_t half_ms = state.scalars.config.audit_delay_ms / 2;
  next_look_ms_ = now_ms + half_ms + 1;  // what is opened later is not due before
  std::vector<core::Digest> due;
  for (const ticket::Record& record : tickets_.open_claims()) {
    const core::Digest id = record.id();
    const core::Digest receipt = protocol::receipt_id(record.body);
    const ledger::ClaimRow* const claim = state.claims.find(id);
    const bool is_open = claim != nullptr && claim->status == ledger::ClaimStatus::kOpen;
    if (!is_open || !book_.contains(receipt)) continue;
    const std::uint64_t due_ms = claim->mature_ms, late_ms = due_ms - std::min(due_ms, half_ms);
    if (state.accused_tickets.get(id) > 0 || (now_ms >= due_ms && was_wrong(receipt))) {
      next_look_ms_ = std::min(next_look_ms_, now_ms + kAccusedMs);
      continue;
    }
    if (now_ms < late_ms) {
      next_look_ms_ = std::min(next_look_ms_, late_ms);
    } else if (now_ms < due_ms) {
      events_.push(event::AuditDue{receipt, true});
      next_look_ms_ = std::min(next_look_ms_, due_ms);
    } else if (due.size() < kAtOnce) {
      due.push_back(id);
    } else {
      next_look_ms_ = now_ms;  // the others with the next tick
    }
  }
  if (!due.empty()) events_.report(mature(due));
}

Result<void> Winners::mature(std::span<const core::Digest> tickets) {
  std::map<crypto::Address, rpc::Outcomes> paid;
  const auto pay = [&](const core::Digest& ticket) -> Result<void> {
    const ledger::ClaimRow claim = *bank_.state().claims.find(ticket);
    COMMENSAL_TRY(bank_.submit(ledger::Mature{ticket}));
    COMMENSAL_TRY(pay_unjudged(ticket, claim));
    paid[claim.provider].items.push_back(*outcome_of(ticket, *tickets_.find(ticket)));
    return {};
  };
  COMMENSAL_TRY(bank_.durably([&]() -> Result<void> {
    for (const core::Digest& ticket : tickets) events_.report(pay(ticket));
    return {};
  }));
  for (auto& [provider, outcomes] : paid) roster_.tell(provider, std::move(outcomes));
  return {};
}

Result<void> Winners::pay_unjudged(const core::Digest& ticket, const ledger::ClaimRow& claim) {
  for (const ticket::Move& move : {ticket::Move{ticket, Event::kAudit, {}},
                                   ticket::Move{ticket, Event::kPay, pay_of(claim)}}) {
    COMMENSAL_TRY(tickets_.move({&move, 1}));
  }
  return {};
}

Result<void> Winners::check_mature(const crypto::Address& provider, const core::Digest& ticket) {
  const ledger::ClaimRow* const claim = bank_.state().claims.find(ticket);
  if (claim != nullptr && claim->provider == provider && !was_wrong(claim->receipt)) return {};
  return fail(ErrorCode::kPermissionDenied, "ticket: {} is no open winner of {} that may be right",
              core::to_hex(ticket), crypto::to_text(provider));
}

Result<std::optional<rpc::Outcomes::Item>> Winners::on_mature(const core::Digest& ticket) {
  const ledger::ClaimRow* const claim = bank_.state().claims.find(ticket);
  const ticket::Record* const record = tickets_.find(ticket);
  if (claim == nullptr || claim->status != ledger::ClaimStatus::kPaid) return std::nullopt;
  if (record != nullptr && (record->state == State::kOpened || record->state == State::kSold)) {
    COMMENSAL_TRY(pay_unjudged(ticket, *claim));
  }
  return outcome_in_ledger(ticket);
}

Result<std::optional<rpc::Outcomes::Item>> Winners::on_default(const protocol::Receipt& receipt) {
  const core::Digest id = protocol::ticket_id(receipt.body());
  const ledger::ClaimRow* const claim = bank_.state().claims.find(id);
  const ticket::Record* const record = tickets_.find(id);
  const bool is_ours = claim != nullptr && record != nullptr &&
                       claim->status == ledger::ClaimStatus::kDefaulted &&
                       claim->gateway == bank_.address();
  if (!is_ours) return std::nullopt;
  if (record->state == State::kCountersigned) {
    const ticket::Move move{id, Event::kDefault,
                            ticket::expected_value(record->face_value, record->win_threshold)};
    COMMENSAL_TRY(tickets_.move({&move, 1}));
  }
  if (record->state != State::kPaid) return std::nullopt;
  return rpc::Outcomes::Item{id, std::string(protocol::name_of(Event::kDefault)), record->paid};
}

}  // namespace commensal::gateway
