// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/config.hpp>

/// What can be asked of a ledger about plain money. `kName` is the EIP-712 type's name; the fields'
/// order is both the encoding's and the type's. Who signs stands beside each: the sender, unless
/// another is named. What each moves is in rules_money.cpp.
namespace commensal::ledger {

/// Begins a journal. By the operator.
struct Genesis {
  static constexpr std::string_view kName = "Genesis";
  Config config;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    Config::fields(archive, self.config);
  }
  bool operator==(const Genesis&) const = default;
};

/// Money came in from outside. By the operator, who holds it.
struct Deposit {
  static constexpr std::string_view kName = "Deposit";
  Address owner;
  Amount amount;
  Digest reference{};  // of the payment outside; each counts once

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("owner", self.owner);
    archive.field("amount", self.amount);
    archive.field("reference", self.reference);
  }
  bool operator==(const Deposit&) const = default;
};

/// Available money goes out.
struct Withdraw {
  static constexpr std::string_view kName = "Withdraw";
  Amount amount;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("amount", self.amount);
  }
  bool operator==(const Withdraw&) const = default;
};

/// Locks available money: into escrow, penalty escrow, stake, or (the operator) the credit pool.
struct Fund {
  static constexpr std::string_view kName = "Fund";
  AccountKind into = AccountKind::kEscrow;
  Amount amount;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("into", self.into);
    archive.field("amount", self.amount);
  }
  bool operator==(const Fund&) const = default;
};

/// Locked money will be free after the ledger's delay; until then it answers as before.
struct AnnounceWithdrawal {
  static constexpr std::string_view kName = "AnnounceWithdrawal";
  AccountKind from = AccountKind::kStake;
  Amount amount;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("from", self.from);
    archive.field("amount", self.amount);
  }
  bool operator==(const AnnounceWithdrawal&) const = default;
};

/// What is left of an announcement becomes available.
struct CompleteWithdrawal {
  static constexpr std::string_view kName = "CompleteWithdrawal";
  std::uint64_t announcement = 0;  // the sequence of the entry that made it

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("announcement", self.announcement);
  }
  bool operator==(const CompleteWithdrawal&) const = default;
};

/// `spender` may debit the sender up to `amount` from now on; zero takes the permission back.
struct Allow {
  static constexpr std::string_view kName = "Allow";
  Address spender;
  Amount amount;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("spender", self.spender);
    archive.field("amount", self.amount);
  }
  bool operator==(const Allow&) const = default;
};

/// A request is paid for. By the payer, or by the payee within what the payer allowed it.
struct Debit {
  static constexpr std::string_view kName = "Debit";
  Address payer;
  Address payee;                               // the gateway
  AccountKind from = AccountKind::kAvailable;  // or kCredit
  Amount amount;
  Address provider;  // who serves the request: free credit may not go to oneself
  Digest request{};  // what was asked for: a job's id

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("payer", self.payer);
    archive.field("payee", self.payee);
    archive.field("from", self.from);
    archive.field("amount", self.amount);
    archive.field("provider", self.provider);
    archive.field("request", self.request);
  }
  bool operator==(const Debit&) const = default;
};

/// Free credit out of the pool. By the operator.
struct GrantCredit {
  static constexpr std::string_view kName = "GrantCredit";
  Address to;
  Amount amount;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("to", self.to);
    archive.field("amount", self.amount);
  }
  bool operator==(const GrantCredit&) const = default;
};

/// Whose word that an answer is right counts. By the operator.
struct AdmitAuditor {
  static constexpr std::string_view kName = "AdmitAuditor";
  Address auditor;
  std::uint8_t admitted = 1;  // 0: no longer

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("auditor", self.auditor);
    archive.field("admitted", self.admitted);
  }
  bool operator==(const AdmitAuditor&) const = default;
};

/// The state that the journal before it adds up to: who has it can run the journal from here on.
/// What nothing can be asked about any more leaves the state. By the operator.
struct Checkpoint {
  static constexpr std::string_view kName = "Checkpoint";
  Digest root{};  // state_root

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("root", self.root);
  }
  bool operator==(const Checkpoint&) const = default;
};

}  // namespace commensal::ledger
