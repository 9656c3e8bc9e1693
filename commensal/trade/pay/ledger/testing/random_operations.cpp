// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ledger/testing/random_operations.hpp>

namespace commensal::ledger::testing {
namespace {

constexpr AccountKind kLockKinds[] = {AccountKind::kEscrow, AccountKind::kPenaltyEscrow,
                                      AccountKind::kStake, AccountKind::kCreditPool};

void seal(Transaction& transaction) {
  transaction.signatures = {CheapSignatures::sign(transaction.sender, signing_digest(transaction))};
}

}  // namespace

RandomOperations::RandomOperations(std::uint64_t seed, std::size_t people) : rng_(seed) {
  core::CounterRng names(0, 1);
  for (std::size_t i = 0; i < people; ++i) names.fill(people_.emplace_back().bytes);
}

Transaction RandomOperations::make(const State& state, const Address& sender, Body body) const {
  Transaction made = unsigned_transaction(operator_address(), state, sender, std::move(body));
  seal(made);
  return made;
}

Transaction RandomOperations::found(const Config& config) {
  earlier_ = make(State{}, operator_address(), Genesis{config});
  return earlier_;
}

Amount RandomOperations::some_of(const Amount& balance) {
  const std::uint64_t most = balance.high() == 0 ? balance.low() : ~std::uint64_t{0};
  return below(16) == 0 || most == 0 ? Amount(most / 2 + below(1000)) : Amount(1 + below(most));
}

Body RandomOperations::body(const State& state, const Address& sender) {
  const auto part = [&](AccountKind kind) { return some_of(state.balance(sender, kind)); };
  const AccountKind locked = kLockKinds[below(std::size(kLockKinds))];
  const auto announced = state.announcements.rows().lower_bound({sender, 0});
  // Only the operator may do the first three, others seldom try.
  const bool may = sender == operator_address() || below(8) == 0;
  switch (may ? below(10) : 3 + below(7)) {
    case 0:
      return Deposit{somebody(), Amount(1 + below(1'000'000)), rng_.next_digest()};
    case 1:
      return GrantCredit{somebody(), part(AccountKind::kCreditPool)};
    case 2:
      return AdmitAuditor{somebody(), static_cast<std::uint8_t>(below(2))};
    case 3:
      return Withdraw{part(AccountKind::kAvailable)};
    case 4:
      return Fund{locked, part(AccountKind::kAvailable)};
    case 5:
      return AnnounceWithdrawal{locked, part(locked)};
    case 6:
      return CompleteWithdrawal{
          announced == state.announcements.rows().end() ? below(100) : announced->first.number};
    case 7:
      return Allow{somebody(), Amount(below(10'000))};
    default:
      break;
  }
  const bool credit = below(3) == 0;
  const AccountKind from = credit ? AccountKind::kCredit : AccountKind::kAvailable;
  return Debit{sender, somebody(), from, part(from), somebody(), rng_.next_digest()};
}

void RandomOperations::spoil(Transaction& transaction) {
  switch (below(6)) {
    case 0:
      transaction.nonce += 1 + below(3);
      return seal(transaction);
    case 1:
      transaction.chain_id = 1 + below(5);
      return seal(transaction);
    case 2:
      transaction.ledger = somebody();
      return seal(transaction);
    case 3:
      transaction.signatures[0].bytes[below(52)] ^= 1;
      return;
    case 4:
      transaction.sender = somebody();
      return;
    default:
      transaction = earlier_;
  }
}

Transaction RandomOperations::next(const State& state) {
  // Only the operator can do some things, so that it has its turn more often.
  const Address sender = below(3) == 0 ? operator_address() : somebody();
  Transaction made = make(state, sender, body(state, sender));
  if (below(8) == 0) spoil(made);
  if (below(8) == 0) earlier_ = made;
  return made;
}

}  // namespace commensal::ledger::testing
