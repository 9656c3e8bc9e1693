// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/sha256.hpp>
#include <commensal/lab/sim/terms.hpp>
#include <commensal/lab/sim/testing/market_fixture.hpp>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <functional>

/// For tests of money in a market: everybody has some, on the demo's terms.
namespace commensal::sim::testing {

using ledger::AccountKind;
using protocol::Amount;

inline core::Digest reference(std::string_view text) {
  return crypto::tagged_hash("test", core::as_bytes(text));
}

class MoneyTrip : public ::testing::Test {
 protected:
  std::unique_ptr<Market> open(std::uint64_t seed, double win_probability,
                               const std::function<void(Terms&)>& change = {}) {
    terms_ = play_terms(win_probability, 100);
    terms_.gateway.hash_chain_depth = 12, terms_.provider.hash_chain_depth = 12;
    terms_.gateway.checkpoint_entries = 64;
    if (change) change(terms_);
    gateway::GatewayConfig config;
    config.audit_probability = audit_probability_;
    config.audit_by_risk = audit_by_risk_;
    config.money = terms_.gateway;
    config.rollouts_kept_max = rollouts_kept_max_;
    config.quotas = quotas_;
    config.receipts = receipts_;
    config.tries_max = tries_max_;
    config.outside_auditors = outside_auditors_;
    config.privacy_auditors = privacy_auditors_;
    config.recheck_probability = recheck_probability_;
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    auto market = std::make_unique<Market>(seed, scratch(test->name()), config, terms_.provider);
    EXPECT_TRUE(market->start_gateway());
    return market;
  }
  /// The consumer and the gateway have money, the model is there.
  void prepare(Market& market) {
    gateway::Gateway& live = market.gateway();
    ASSERT_TRUE(live.deposit(live.account_address("consumer"), terms_.consumer_deposit,
                             reference("consumer")));
    ASSERT_TRUE(live.deposit(live.address(), terms_.gateway_escrow, reference("gateway")));
    ASSERT_TRUE(live.fund(AccountKind::kEscrow, terms_.gateway_escrow));
    ASSERT_TRUE(market.push("digits", digits()));
  }
  std::size_t add(Market& market, const std::string& name,
                  std::unique_ptr<rollout::EngineFactory> engines = engines_of_this_process()) {
    const std::size_t index = market.add_provider(name, std::move(engines));
    const crypto::Address address = market.address_of(index);
    EXPECT_TRUE(market.gateway().deposit(address, terms_.provider.stake, reference(name)));
    market.rest_ms(10);
    EXPECT_EQ(balance(market, address, AccountKind::kStake), terms_.provider.stake);
    return index;
  }
  static Amount balance(Market& market, const crypto::Address& owner, AccountKind kind) {
    return market.gateway().ledger().balance(owner, kind);
  }
  static Amount stake(Market& market, std::size_t index) {
    return balance(market, market.address_of(index), AccountKind::kStake);
  }
  static std::vector<ledger::CaseRow> cases_of(Market& market) {
    std::vector<ledger::CaseRow> rows;
    for (const auto& [key, row] : market.gateway().ledger().cases.rows()) rows.push_back(row);
    return rows;
  }
  /// All adds up, and what went to providers is what the tickets say.
  static void check(Market& market, const std::vector<crypto::Address>& providers) {
    ASSERT_TRUE(ledger::check_all(market.gateway().ledger()));
    Amount earned;
    for (const crypto::Address& address : providers) {
      earned = *earned.plus(balance(market, address, AccountKind::kAvailable));
    }
    ASSERT_EQ(earned, market.gateway().tickets().totals().value_paid);
  }

  /// No winner waits whose answer was delivered.
  static void check_nothing_is_open(Market& market) {
    for (const ticket::Record& record : market.gateway().tickets().open_claims()) {
      EXPECT_FALSE(market.gateway().receipts().find(protocol::receipt_id(record.body)));
    }
  }

  Terms terms_;
  double audit_probability_ = 0;  // of what open() opens
  bool audit_by_risk_ = true;
  std::size_t rollouts_kept_max_ = limits::kRolloutsKeptMax;
  gateway::QuotaConfig quotas_;
  gateway::BookLimits receipts_;
  int tries_max_ = 3;
  bool outside_auditors_ = false;
  gateway::PrivacyAuditors::Believed privacy_auditors_;
  double recheck_probability_ = 0.1;
};

}  // namespace commensal::sim::testing
