// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <commensal/trade/pay/ledger/claim_rows.hpp>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/testing/people.hpp>
#include <commensal/trade/pay/ledger/testing/scripted_arbiter.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

/// For tests: a ledger on which one gateway and one provider have tickets, with real keys, receipts
/// and hash chains.
namespace commensal::ledger::testing {

using protocol::Outcome;
using ::testing::HasSubstr;
using Step = ticket::testing::Pair::Step;

constexpr AccountKind kAvailable = AccountKind::kAvailable;

class ClaimsFixture : public ::testing::Test {
 protected:
  ClaimsFixture() {
    Config config;
    config.operator_address = operator_.address;
    config.withdrawal_delay_ms = 1000;
    config.audit_delay_ms = 500;
    config.reveal_delay_ms = 100;
    config.absence_delay_ms = 150;
    config.opening_rounds = 5;
    config.pardon_matches = 2;
    config.penalty = Amount(11);
    config.auditor_fee = Amount(3);
    config.auditor_bounty = Amount(40);
    config.accusation_bond = Amount(21);
    config.contest_delay_ms = 200;
    config.move_delay_ms = 50;
    config.dispute_delay_ms = 400;
    config.auditor_stake = Amount(70);
    config.report_delay_ms = 60;
    accept(operator_.key, Genesis{config});
    accept(operator_.key, AdmitAuditor{auditor_.address, 1});
    fund(gateway(), {{AccountKind::kEscrow, 1000}, {AccountKind::kPenaltyEscrow, 50}}, 1);
    fund(provider(), {{AccountKind::kStake, 500}}, 2);
    accept(provider(), RegisterBeacon{pair_.gateway_head, pair_.provider_head});
  }

  const crypto::SecretKey& gateway() const { return pair_.gateway_key; }
  const crypto::SecretKey& provider() const { return pair_.provider_key; }
  Address gateway_address() const { return gateway().address(); }
  Address provider_address() const { return provider().address(); }

  core::Result<Entry> send(const crypto::SecretKey& sender, Body body) {
    Transaction made =
        unsigned_transaction(operator_.address, ledger_.state(), sender.address(), std::move(body));
    sign(sender, made);
    return ledger_.apply(made, now_ms_);
  }
  void accept(const crypto::SecretKey& sender, Body body) {
    const auto entry = send(sender, std::move(body));
    ASSERT_TRUE(entry) << entry.error().message;
    const auto sound = check_all(ledger_.state());
    ASSERT_TRUE(sound) << sound.error().message;
  }
  std::string refusal(const crypto::SecretKey& sender, Body body) {
    const Digest before = state_root(ledger_.state());
    const auto entry = send(sender, std::move(body));
    EXPECT_EQ(state_root(ledger_.state()), before);
    return entry ? "accepted" : entry.error().message;
  }
  void fund(const crypto::SecretKey& key, std::map<AccountKind, std::uint64_t> parts,
            std::uint8_t reference) {
    Amount sum;
    for (const auto& [kind, amount] : parts) sum = *sum.plus(Amount(amount));
    accept(operator_.key, Deposit{key.address(), sum, Digest{reference}});
    for (const auto& [kind, amount] : parts) accept(key, Fund{kind, Amount(amount)});
  }
  std::uint64_t balance(const Address& owner, AccountKind kind = kAvailable) const {
    return ledger_.state().balance(owner, kind).low();
  }
  std::uint64_t burnt() const { return ledger_.state().balances.get(kBurnt).low(); }

  /// A countersigned ticket of `face` in `round`.
  Step ticket(std::uint64_t round, std::uint64_t face = 100, bool wins = true) {
    protocol::Job job = pair_.job(wins ? ticket::certain_threshold() : Digest{}, Amount(face));
    Step made = pair_.step(job, round);
    pair_.sign({&made, 1});
    return made;
  }
  Judge judge(const Step& made, Outcome outcome, const crypto::SecretKey& auditor) const {
    const Digest& committed = made.receipt.commitment;
    const Digest recomputed = outcome == Outcome::kMatch      ? committed
                              : outcome == Outcome::kMismatch ? Digest{9}
                                                              : Digest{};
    protocol::Verdict verdict{protocol::receipt_id(made.receipt.body()),
                              outcome,
                              {},
                              committed,
                              recomputed,
                              "re-executed",
                              {}};
    return {made.receipt, protocol::sign_verdict(auditor, verdict)};
  }
  Reveal reveal_of(beacon::HashChain& chain, const protocol::HashChainHead& head,
                   std::uint64_t round) const {
    return {hash_chain_key(head), round, *chain.reveal(round)};
  }
  Reveal gateway_reveals(std::uint64_t round) {
    return reveal_of(pair_.gateway_chain, pair_.gateway_head, round);
  }
  Reveal provider_reveals(std::uint64_t round) {
    return reveal_of(pair_.provider_chain, pair_.provider_head, round);
  }

  const Person operator_{1}, auditor_{2}, stranger_{3};
  ticket::testing::Pair pair_{4};
  Signatures signatures_;
  Ledger ledger_{signatures_, &kArbiter};
  std::int64_t now_ms_ = 10;
};

}  // namespace commensal::ledger::testing
