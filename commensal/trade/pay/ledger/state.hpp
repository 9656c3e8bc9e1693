// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/claim_rows.hpp>
#include <commensal/trade/pay/ledger/table.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>

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

/// What a journal adds up to. Its encoding is what state_digest() hashes; how it is stored:
/// state_rows.hpp.
struct State {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kLedgerState;

  /// What a refused transaction puts back by copying; the rest is in tables.
  struct Scalars {
    std::uint64_t entries = 0;  // in the journal so far
    std::uint64_t time_ms = 0;  // of the last one
    Digest head{};              // its hash
    Config config;              // of the first one
    Amount credit;              // granted and not yet spent

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("entries", self.entries);
      archive.field("time_ms", self.time_ms);
      archive.field("head", self.head);
      archive.field("config", self.config);
      archive.field("credit", self.credit);
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
  Table<Digest, BeaconRow> beacons;         // by protocol::beacon_id
  Table<DemandKey, std::uint64_t> demands;  // until when, in ms
  Table<Digest, ClaimRow> claims;           // by protocol::ticket_id
  Table<Address, AuditRecord> audits;       // of providers with mismatches

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("scalars", self.scalars);
    archive.field("balances", self.balances);
    archive.field("nonces", self.nonces);
    archive.field("deposits", self.deposits);
    archive.field("announcements", self.announcements);
    archive.field("allowances", self.allowances);
    archive.field("auditors", self.auditors);
    archive.field("hash_chains", self.hash_chains);
    archive.field("beacons", self.beacons);
    archive.field("demands", self.demands);
    archive.field("claims", self.claims);
    archive.field("audits", self.audits);
  }

  Amount balance(const Address& owner, AccountKind kind) const {
    return balances.get({owner, kind});
  }
  /// Calls `visit` with every table, for what is done to all of them.
  template <class Visit>
  void each_table(Visit&& visit) {
    visit(balances), visit(nonces), visit(deposits), visit(announcements), visit(allowances),
        visit(auditors), visit(hash_chains), visit(beacons), visit(demands), visit(claims),
        visit(audits);
  }
};

/// H("commensal/ledger/state/v1", encoding): equal digests, equal states.
Digest state_digest(const State& state);

}  // namespace commensal::ledger
