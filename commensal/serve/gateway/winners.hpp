// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>

namespace commensal::gateway {

/// What a verdict led to.
struct Judgement {
  ticket::Event event = ticket::Event::kPay;  // or kPenalise, kSlash
  protocol::Amount taken;                     // from the provider's stake
  protocol::Amount burnt;                     // of that
  protocol::Amount bounty;                    // of that, the auditor's
};

/// The tickets of a Lottery that have won: claimed, opened in the ledger, audited
/// (event::AuditDue), judged; and what becomes of them where somebody is silent.
/// Thread-safety: one thread, the store's.
class Winners {
 public:
  /// All of them outlive this object; the loop drops its tasks with it.
  Winners(core::Loop& loop, const core::Clock& clock, Bank& bank, const Roster& roster,
          ReceiptBook& book, EventQueue& events, const Lottery& lottery,
          ticket::TicketBook& tickets)
      : loop_(loop),
        clock_(clock),
        bank_(bank),
        roster_(roster),
        book_(book),
        events_(events),
        lottery_(lottery),
        tickets_(tickets) {}

  /// Looks for deadlines that have passed: of providers, and of verdicts.
  void tick();
  void on_claims(const crypto::Address& provider, const rpc::Claims& claims);
  /// That an answer is right; nothing where its ticket is not open.
  core::Result<std::optional<Judgement>> judge(const protocol::Receipt& receipt,
                                               const protocol::Verdict& verdict);
  /// The ledger has booked this: where it is a provider's sale, its ticket is sold in the same
  /// write. After that, or an offer, event::ClaimTraded follows.
  core::Result<void> on_booked(const ledger::Entry& entry);
  /// To its provider, once that is durable. Returns whose it is, if it is known.
  std::optional<crypto::Address> tell_traded(const core::Digest& ticket) const;
  /// The ledger has found its answer wrong, by this entry.
  core::Result<Judgement> on_convicted(const protocol::Receipt& receipt,
                                       const ledger::Entry& entry);
  /// The same after a kill: its ticket goes where the ledger says, if it has not.
  core::Result<void> resume_convicted(const protocol::Receipt& receipt);
  /// The provider's Default may have been booked: what it has to be told, once all is durable.
  core::Result<std::optional<rpc::Outcomes::Item>> on_default(const protocol::Receipt& receipt);
  /// Whether a provider may have it paid that its winner was not judged in time. Error:
  /// kPermissionDenied (another's, or its answer was found wrong).
  core::Result<void> check_mature(const crypto::Address& provider, const core::Digest& ticket);
  /// That may have been booked: likewise.
  core::Result<std::optional<rpc::Outcomes::Item>> on_mature(const core::Digest& ticket);

 private:
  std::optional<rpc::Outcomes::Item> outcome_of(const core::Digest& id,
                                                const ticket::Record& record) const;
  std::optional<rpc::Outcomes::Item> outcome_in_ledger(const core::Digest& id) const;
  /// What its ticket is drawn by, where the claim may be opened; else null.
  const beacon::TwoPartyBeacon* beacon_of(const crypto::Address& provider,
                                          const rpc::Claims::Item& item) const;
  void open_claimed();
  core::Result<void> open_winner(const beacon::TwoPartyBeacon& beacon,
                                 const rpc::Claims::Item& item);
  void tell(const protocol::Receipt& receipt, const Judgement& judgement) const;
  core::Result<Judgement> settle(const core::Digest& ticket, const ledger::Entry& entry);
  bool was_wrong(const core::Digest& receipt) const;
  void look();
  core::Result<void> mature(std::span<const core::Digest> tickets);
  core::Result<void> pay_unjudged(const core::Digest& ticket, const ledger::ClaimRow& claim);
  core::Result<void> punish_silence(const beacon::TwoPartyBeacon& beacon);

  core::Loop& loop_;
  const core::Clock& clock_;
  Bank& bank_;
  const Roster& roster_;
  ReceiptBook& book_;
  EventQueue& events_;
  const Lottery& lottery_;
  ticket::TicketBook& tickets_;
  /// Won and claimed, to be opened a few in a turn of the loop; by ticket: no more than have won.
  std::map<core::Digest, std::pair<crypto::Address, rpc::Claims::Item>> claimed_;
  std::uint64_t next_look_ms_ = 0;  // no open winner is due before
};

}  // namespace commensal::gateway
