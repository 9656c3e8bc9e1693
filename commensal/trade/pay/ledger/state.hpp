// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/case_rows.hpp>
#include <commensal/trade/pay/ledger/claim_rows.hpp>
#include <commensal/trade/pay/ledger/draw_rows.hpp>
#include <commensal/trade/pay/ledger/table.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <optional>

namespace commensal::ledger {

/// Locked money on its way out. Until it is released it answers for what it left.
struct Announcement {
  AccountKind from = AccountKind::kStake;
  Amount amount;
  std::uint64_t release_ms = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("from", self.from);
    archive.field("amount", self.amount);
    archive.field("release_ms", self.release_ms);
  }
};

/// Two addresses, or an address and a number, as a key.
struct OwnedKey {
  Address owner;
  std::uint64_t number = 0;
  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("owner", self.owner);
    archive.field("number", self.number);
  }
  auto operator<=>(const OwnedKey&) const = default;
};
struct AllowanceKey {
  Address owner;
  Address spender;
  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("owner", self.owner);
    archive.field("spender", self.spender);
  }
  auto operator<=>(const AllowanceKey&) const = default;
};

/// What a journal adds up to. How it is stored and hashed: state_rows.hpp.
struct State {
  /// What a refused transaction puts back by copying; the rest is in tables.
  struct Scalars {
    std::uint64_t entries = 0;           // in the journal so far
    std::uint64_t time_ms = 0;           // of the last one
    Digest head{};                       // its hash
    Config config;                       // of the first one
    Amount credit;                       // granted and not yet spent
    std::uint64_t checkpoint = 0;        // the last Checkpoint's entry; 0: none yet
    std::optional<Digest> forgets_from;  // claims from here on are still to be looked through

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("entries", self.entries);
      archive.field("time_ms", self.time_ms);
      archive.field("head", self.head);
      archive.field("config", self.config);
      archive.field("credit", self.credit);
      archive.field("checkpoint", self.checkpoint);
      archive.field("forgets_from", self.forgets_from);
    }
  };

  Scalars scalars;
  Table<AccountId, Amount> balances;  // of kOutside: what is inside; never a row of zero
  Table<Address, std::uint64_t> nonces;
  Table<Digest, std::uint64_t> deposits;  // reference -> entry
  Table<OwnedKey, Announcement> announcements;
  Table<AllowanceKey, Amount> allowances;
  Table<Address, std::uint8_t> auditors;
  Table<Digest, HashChainRow> hash_chains;  // by hash_chain_key
  Table<Address, std::uint32_t> chains_of;  // how many an owner has registered
  Table<Digest, BeaconRow> beacons;         // by protocol::beacon_id
  Table<DemandKey, std::uint64_t> demands;  // until when, in ms
  Table<Digest, ClaimRow> claims;           // by protocol::ticket_id
  Table<Address, AuditRecord> audits;       // of providers that were judged, or convicted
  Table<CaseKey, CaseRow> cases;
  Table<MoveKey, MoveRow> moves;                 // of pending cases
  Table<Address, std::uint32_t> accused;         // pending cases, by who is accused
  Table<Digest, std::uint32_t> accused_tickets;  // and of a ticket; never a row of zero
  Table<Digest, Amount> asked;                   // for open claims; never a row of zero
  Table<Address, BenchRow> bench;                // who may be drawn to report
  Table<Digest, DrawRow> draws;                  // by the receipt that was accused

  Amount balance(const Address& owner, AccountKind kind) const {
    return balances.get({owner, kind});
  }
  /// Calls `visit` with every table, for what is done to all of them.
  template <class Visit>
  void each_table(Visit&& visit) {
    each_of(*this, visit);
  }
  template <class Visit>
  void each_table(Visit&& visit) const {
    each_of(*this, visit);
  }

 private:
  template <class Self, class Visit>
  static void each_of(Self& self, Visit& visit) {
    visit(self.balances), visit(self.nonces), visit(self.deposits), visit(self.announcements),
        visit(self.allowances), visit(self.auditors), visit(self.hash_chains),
        visit(self.chains_of), visit(self.beacons), visit(self.demands), visit(self.claims),
        visit(self.audits), visit(self.cases), visit(self.moves), visit(self.accused),
        visit(self.accused_tickets), visit(self.asked), visit(self.bench), visit(self.draws);
  }
};

}  // namespace commensal::ledger
