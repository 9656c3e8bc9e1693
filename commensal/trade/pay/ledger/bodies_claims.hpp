// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/beacon.hpp>
#include <commensal/base/protocol/ticket.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/trade/pay/ledger/account.hpp>

/// What can be asked of a ledger about tickets (docs/money.md has the whole trip). Most of it is
/// evidence that proves itself, so that anyone may send it: the sender only pays with its nonce.
namespace commensal::ledger {

/// Two parties' hash chains draw their tickets from now on. The heads are signed by their owners.
struct RegisterBeacon {
  static constexpr std::string_view kName = "RegisterBeacon";
  protocol::HashChainHead gateway;
  protocol::HashChainHead provider;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("gateway", self.gateway);
    archive.field("provider", self.provider);
  }
  bool operator==(const RegisterBeacon&) const = default;
};

/// A value of a hash chain; it meets every demand for its round and those before. A provider's is
/// its acknowledgement of the round, which deadlines count by.
struct Reveal {
  static constexpr std::string_view kName = "Reveal";
  Digest hash_chain{};  // hash_chain_key
  std::uint64_t round = 0;
  Digest value{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("hash_chain", self.hash_chain);
    archive.field("round", self.round);
    archive.field("value", self.value);
  }
  bool operator==(const Reveal&) const = default;
};

/// A winner and its opening: its face value and the auditor's fee are reserved in the escrow.
struct Open {
  static constexpr std::string_view kName = "Open";
  protocol::Claim claim;
  std::vector<protocol::Endorsement> endorsements;  // from the job's provider to the holder

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("claim", self.claim);
    archive.field("endorsements", self.endorsements);
  }
  bool operator==(const Open&) const = default;
};

/// An admitted auditor's verdict that an open winner's answer is right: it is paid. Of a wrong one
/// nobody's word is enough: it is accused (bodies_disputes.hpp).
struct Judge {
  static constexpr std::string_view kName = "Judge";
  protocol::Receipt receipt;  // whom its job admits as auditors
  protocol::Verdict verdict;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("verdict", self.verdict);
  }
  bool operator==(const Judge&) const = default;
};

/// An open winner that nobody has judged in time is paid.
struct Mature {
  static constexpr std::string_view kName = "Mature";
  Digest ticket{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("ticket", self.ticket);
  }
  bool operator==(const Mature&) const = default;
};

/// An open winner passes to another key, for nothing. Signed, inside, by its holder.
struct Endorse {
  static constexpr std::string_view kName = "Endorse";
  protocol::Endorsement endorsement;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("endorsement", self.endorsement);
  }
  bool operator==(const Endorse&) const = default;
};

/// An open winner is for sale at this price, at most its face value; 0: no longer. By its holder.
/// Nobody gains by selling what it knows to be wrong: it gets no more than the gateway would have
/// paid for a right answer, its stake answers as before, and who would buy can see that no audit
/// has confirmed the answer yet. So cheating gains the work that it saved, as in the risk desk's
/// inequality of malice, which counts no pay as lost; and of winnings held back, only those that
/// the provider still holds (gateway::facts_in).
struct Sell {
  static constexpr std::string_view kName = "Sell";
  Digest ticket{};
  Amount price;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("ticket", self.ticket);
    archive.field("price", self.price);
  }
  bool operator==(const Sell&) const = default;
};

/// The sender pays just what is asked and holds the claim from then on, with its risk: where it is
/// refused later nobody pays and nobody refunds. By anyone but its holder, the gateway that owes it
/// and whoever is admitted as an auditor: who judges is not paid by the ticket.
struct Buy {
  static constexpr std::string_view kName = "Buy";
  Digest ticket{};
  Amount price;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("ticket", self.ticket);
    archive.field("price", self.price);
  }
  bool operator==(const Buy&) const = default;
};

/// What both parties signed takes the place of whatever was pending, drawn or not.
struct Settle {
  static constexpr std::string_view kName = "Settle";
  protocol::Receipt receipt;                        // whose ticket it is
  std::vector<protocol::Endorsement> endorsements;  // unless it is open already
  protocol::JointSettlement settlement;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("endorsements", self.endorsements);
    archive.field("settlement", self.settlement);
  }
  bool operator==(const Settle&) const = default;
};

/// A winner that its provider has not opened although it acknowledged enough later rounds.
struct Silence {
  static constexpr std::string_view kName = "Silence";
  protocol::Receipt receipt;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
  }
  bool operator==(const Silence&) const = default;
};

/// Whoever's reveal is missing has the ledger's delay to show it, by any route: a gateway, which is
/// always there, minutes, a provider days. By the other party of the ticket.
struct Demand {
  static constexpr std::string_view kName = "Demand";
  protocol::Receipt receipt;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
  }
  bool operator==(const Demand&) const = default;
};

/// A demand was not met. The gateway's default pays the ticket's expected value and a penalty; the
/// provider's is slashed as one who does not open a winner.
struct Default {
  static constexpr std::string_view kName = "Default";
  protocol::Receipt receipt;
  std::vector<protocol::Endorsement> endorsements;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("endorsements", self.endorsements);
  }
  bool operator==(const Default&) const = default;
};

}  // namespace commensal::ledger
