// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/store/joint_store.hpp>
#include <commensal/serve/gateway/accounts.hpp>
#include <commensal/serve/gateway/bank.hpp>

namespace commensal::gateway {

/// Gives who is new what a gateway takes to be tried (TestMoneyTerms), booked as deposits of the
/// operator's: accounts free credit, providers a stake. Once for an account or key, and bounded.
/// Where nothing is granted it does nothing. Thread-safety: one thread, the store's.
class TestMoney {
 public:
  /// All but `config` outlive this object.
  TestMoney(store::JointStore& store, Bank& bank, const MoneyConfig& config)
      : store_(store), bank_(bank), config_(config) {}

  /// Reads how many keys have got a stake; gives credit to accounts that were made without, and
  /// have nothing: as much as promise() said, or what is usual. It looks at those alone that are
  /// owed some, but where money was not granted before: then at all. Errors: kDataLoss, the
  /// ledger's.
  core::Result<void> open(Accounts& accounts);
  /// What is written with an account that is to get credit, so that open() finds it if the gateway
  /// ends before give_credit().
  core::Store::Batch owe(const std::string& account) const;
  /// What is written with an account that shall have this much instead of what is usual, so that it
  /// gets neither more nor less if the gateway ends before give_credit().
  static core::Store::Write promise(const std::string& account, const protocol::Amount& amount);
  /// Returns what the account has got: less, or nothing, where the ledger's cap on credit leaves no
  /// more. Durable when it returns. Errors: the ledger's, kDataLoss.
  core::Result<protocol::Amount> give_credit(const std::string& account);
  /// Whether there is test money for consumers here.
  bool is_on() const { return config_.test.is_granted && config_.face_value != protocol::Amount(); }
  /// What the provider lacks of the least stake becomes available to it, where it is one of the
  /// first limits::kTestStakesMax that do. Durable when it returns. Errors: the ledger's.
  core::Result<void> give_stake(const crypto::Address& provider);

 private:
  core::Result<void> settle(Accounts& accounts, const std::string& account);
  core::Result<void> settle_all(Accounts& accounts);
  core::Result<void> settle_owed(Accounts& accounts);
  core::Result<void> owe_no_more(const std::string& account);
  bool has_some(const std::string& account) const;
  core::Result<protocol::Amount> credit_of(const std::string& account);
  protocol::Amount balance(const crypto::Address& owner, ledger::AccountKind kind) const {
    return bank_.state().balance(owner, kind);
  }
  bool has_got(const core::Digest& reference) const {
    return bank_.state().deposits.find(reference) != nullptr;
  }

  store::JointStore& store_;
  Bank& bank_;
  const MoneyConfig config_;
  std::size_t stakes_ = 0;
};

}  // namespace commensal::gateway
