// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/economy/testing/gateway.hpp>
#include <commensal/lab/economy/testing/rules.hpp>

namespace commensal::economy::testing {

using ledger::AccountKind;

namespace {

constexpr std::size_t kConsumers = 4;
constexpr std::uint64_t kCreditPool = 50'000;

ledger::Config rules_of(const Address& gateway) {
  ledger::Config config;
  config.operator_address = gateway;
  config.withdrawal_delay_ms = 7 * 24 * kHourMs;
  config.reveal_delay_ms = kRoundMs - kHourMs;
  config.audit_delay_ms = 24 * kHourMs;
  config.opening_rounds = kOpeningRounds;
  return config;
}

}  // namespace

Gateway::Gateway(World& world, Manner manner)
    : Party(world, manner),
      fresh_(beacon::ReverseChain::make(world.rng.next_digest(), kChainDepth)),
      head_(protocol::sign_chain_head(key(), {{}, fresh_.anchor(), fresh_.rounds(), {}})),
      auditor_(crypto::SecretKey::generate(world.rng)) {
  for (std::size_t i = 0; i < kConsumers; ++i) world.rng.fill(consumers_.emplace_back().bytes);
}

Result<void> Gateway::load() {
  COMMENSAL_ASSIGN(auto bank, ledger::Book::open(store(), world_.signatures));
  bank_.emplace(std::move(bank));
  COMMENSAL_ASSIGN(chain_, kept("chain", {}, fresh_));
  return {};
}

Result<ledger::Entry> Gateway::submit(const Address& sender, ledger::Body body) {
  ledger::Transaction made =
      ledger::testing::unsigned_transaction(address(), state(), sender, std::move(body));
  made.signatures = {ledger::testing::CheapSignatures::sign(sender, ledger::signing_digest(made))};
  return bank_->stage(made, world_.clock.wall_ms());
}

Result<void> Gateway::deposit(const Address& owner, std::uint64_t amount) {
  COMMENSAL_TRY(submit(ledger::Deposit{owner, Amount(amount), world_.rng.next_digest()}));
  return {};
}

Result<void> Gateway::fund(const Address& owner, AccountKind into, std::uint64_t amount) {
  COMMENSAL_TRY(submit(owner, ledger::Fund{into, Amount(amount)}));
  return {};
}

Result<void> Gateway::found() {
  return once(0, [&]() -> Result<void> {
    COMMENSAL_TRY(submit(ledger::Found{rules_of(address())}));
    COMMENSAL_TRY(submit(ledger::AdmitAuditor{auditor_.address(), 1}));
    COMMENSAL_TRY(deposit(address(), kEscrow + kPenaltyEscrow + kCreditPool));
    COMMENSAL_TRY(fund(address(), AccountKind::kEscrow, kEscrow));
    COMMENSAL_TRY(fund(address(), AccountKind::kPenaltyEscrow, kPenaltyEscrow));
    return fund(address(), AccountKind::kCreditPool, kCreditPool);
  });
}

ledger::Judge Gateway::verdict(const protocol::Receipt& receipt, bool right) const {
  const protocol::Verdict verdict{protocol::receipt_id(receipt.body()),
                                  right ? protocol::Outcome::kMatch : protocol::Outcome::kMismatch,
                                  {},
                                  receipt.commitment,
                                  right ? receipt.commitment : Digest{1},
                                  {},
                                  {}};
  return {receipt, protocol::sign_verdict(auditor_, verdict)};
}

}  // namespace commensal::economy::testing
