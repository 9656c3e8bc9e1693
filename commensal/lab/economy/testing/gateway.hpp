// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/economy/testing/party.hpp>
#include <commensal/trade/pay/ledger/book.hpp>

namespace commensal::economy::testing {

/// A gateway: its ledger, whose operator it is, its tickets with all its providers, one hash chain.
/// Thread-safety: one thread.
class Gateway final : public Party {
 public:
  Gateway(World& world, Manner manner);

  const ledger::State& state() const { return bank_->state(); }
  const protocol::ChainHead& head() const { return head_; }
  const std::vector<Address>& consumers() const { return consumers_; }
  beacon::ReverseChain& chain() { return *chain_; }
  Result<void> keep_chain() { return keep(*chain_, "chain", {}); }

  /// Books something that `sender` signs. Within act(). Errors: the ledger's refusals.
  Result<ledger::Entry> submit(const Address& sender, ledger::Body body);
  Result<ledger::Entry> submit(ledger::Body body) { return submit(address(), std::move(body)); }
  /// Money comes in; locks some that is available.
  Result<void> deposit(const Address& owner, std::uint64_t amount);
  Result<void> fund(const Address& owner, ledger::AccountKind into, std::uint64_t amount);
  Amount balance(const Address& owner,
                 ledger::AccountKind kind = ledger::AccountKind::kAvailable) const {
    return state().balance(owner, kind);
  }

  /// Founds the ledger and fills it. Once.
  Result<void> found();
  /// The auditor's word on an open winner.
  ledger::Judge verdict(const protocol::Receipt& receipt, bool right) const;

 private:
  Result<void> load() override;
  Result<void> flush() override { return bank_->commit(); }

  beacon::ReverseChain fresh_;
  protocol::ChainHead head_;
  crypto::SecretKey auditor_;
  std::vector<Address> consumers_;
  std::optional<ledger::Book> bank_;
  std::optional<beacon::ReverseChain> chain_;
};

}  // namespace commensal::economy::testing
