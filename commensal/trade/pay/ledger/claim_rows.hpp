// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/beacon.hpp>
#include <commensal/trade/pay/ledger/account.hpp>

/// What the state keeps of tickets and beacons.
namespace commensal::ledger {

enum class ClaimStatus : std::uint8_t {
  kOpen,       // reserved; waits for a verdict
  kPaid,       // final, as are all that follow, but that they may be refused yet
  kRefused,    // its answer is wrong: conceded, proved or reported
  kSettled,    // jointly
  kDefaulted,  // a reveal was withheld
  kSilent,     // won and not opened
};
std::span<const std::string_view> enum_names(ClaimStatus);

/// A ticket that the ledger has decided on or is about to. A final one stays until nothing about
/// its ticket is accepted any more (tickets.hpp: is_over) but that its answer is wrong, so that
/// none is paid twice; a refused one for ever, so that none is punished twice.
struct ClaimRow {
  ClaimStatus status = ClaimStatus::kOpen;
  Digest receipt{};     // protocol::receipt_id
  Digest commitment{};  // what a verdict, or an accusation, is about
  Address gateway;
  Address provider;
  Address holder;
  std::uint64_t endorsements = 0;  // how often it has passed to another key, sold or not
  Amount face;                     // reserved while it is open
  Amount fee;                      // likewise
  std::uint64_t mature_ms = 0;     // from then on it is paid without a verdict
  Digest beacon{};                 // of the job
  std::uint64_t round = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("status", self.status);
    archive.field("receipt", self.receipt);
    archive.field("commitment", self.commitment);
    archive.field("gateway", self.gateway);
    archive.field("provider", self.provider);
    archive.field("holder", self.holder);
    archive.field("endorsements", self.endorsements);
    archive.field("face", self.face);
    archive.field("fee", self.fee);
    archive.field("mature_ms", self.mature_ms);
    archive.field("beacon", self.beacon);
    archive.field("round", self.round);
  }
};

/// A registered hash chain and the latest value known of it (beacon::HashChainTracker).
struct HashChainRow {
  protocol::HashChainHead head;
  std::uint64_t round = 0;
  Digest value{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("head", self.head);
    archive.field("round", self.round);
    archive.field("value", self.value);
  }
};
/// H("commensal/ledger/chain/v1", owner | anchor | first | rounds, as u64).
Digest hash_chain_key(const protocol::HashChainHead& head);

/// The keys of its two chains.
struct BeaconRow {
  Digest gateway{};
  Digest provider{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("gateway", self.gateway);
    archive.field("provider", self.provider);
  }
};

/// How a provider has answered: cards do flip bits, now and then.
struct AuditRecord {
  std::uint32_t mismatches = 0;  // that it was convicted of, not yet forgotten
  std::uint32_t matches = 0;     // since the last one; at most Config::pardon_matches

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("mismatches", self.mismatches);
    archive.field("matches", self.matches);
  }
};

/// A reveal that somebody has asked for.
struct DemandKey {
  Digest hash_chain{};
  std::uint64_t round = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("hash_chain", self.hash_chain);
    archive.field("round", self.round);
  }
  auto operator<=>(const DemandKey&) const = default;
};

}  // namespace commensal::ledger
