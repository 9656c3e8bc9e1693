// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/state.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>

namespace commensal::ledger {

/// What a rule works with. Rules edit the state freely: what a refused transaction did is undone.
class Context {
 public:
  Context(State& state, Entry& entry, const Arbiter* arbiter = nullptr)
      : state(state), entry_(entry), arbiter_(arbiter) {}

  State& state;

  const Config& config() const { return state.scalars.config; }
  const Address& sender() const { return entry_.transaction.sender; }
  std::uint64_t time_ms() const { return entry_.time_ms; }
  std::uint64_t sequence() const { return entry_.sequence; }
  const Arbiter* arbiter() const { return arbiter_; }  // may be none

  /// A posting. Nothing for an amount of zero. Error: kFailedPrecondition (overdraft).
  core::Result<void> move(const AccountId& from, const AccountId& to, const Amount& amount);
  /// Takes `amount` of locked money of `kind`: first what is there, then what was announced for
  /// withdrawal from there, oldest first. Returns what was found, at most `amount`.
  core::Result<Amount> take_locked(const Address& owner, AccountKind kind, const AccountId& to,
                                   const Amount& amount);
  /// What take_locked could find.
  core::Result<Amount> locked(const Address& owner, AccountKind kind) const;

  core::Result<void> by_operator() const;

 private:
  Entry& entry_;
  const Arbiter* arbiter_;
};

/// Error: kInvalidArgument for zero.
core::Result<void> not_zero(const Amount& amount);

/// The rule of each kind of transaction: moves its money or says why not.
core::Result<void> apply_rule(Context& context, const Body& body);

}  // namespace commensal::ledger
