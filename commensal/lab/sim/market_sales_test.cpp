// SPDX-License-Identifier: Apache-2.0
// Claims that are sold, with the daemons' own code in one thread: whoever holds one is paid, or is
// not, and the books of both sides say what their provider got.
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/liars.hpp>
#include <commensal/lab/sim/testing/money_fixture.hpp>
#include <commensal/serve/gateway/claim_desk.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using ledger::ClaimStatus;
using store::testing::Fault;

class MoneySales : public MoneyTrip {
 protected:
  static constexpr std::int64_t kAuditMs = 60'000;
  static constexpr std::uint64_t kFace = 100'000, kPrice = 95'000;

  /// Every ticket wins, its provider sells it, and nobody audits before start_audits().
  std::unique_ptr<Market> open_for_sale(std::uint64_t seed, std::uint32_t sell_pm = 950) {
    audit_by_risk_ = false;  // winners alone are audited, once they can be
    auto market = open(seed, 1, [&](Terms& terms) {
      terms.provider.sell_pm = sell_pm;
      terms.gateway.rules.audit_delay_ms = kAuditMs;
    });
    restart(*market, [] { return make_refuser(); });
    prepare(*market);
    EXPECT_TRUE(
        market->gateway().deposit(buyer_.address(), Amount(10 * kFace), reference("buyer")));
    return market;
  }
  static void restart(Market& market,
                      std::function<std::unique_ptr<rollout::EngineFactory>()> engines) {
    market.kill_gateway();
    market.set_gateway_engines(std::move(engines));
    ASSERT_TRUE(market.start_gateway());
  }
  static void start_audits(Market& market) {
    restart(market, engines_of_this_process);
    market.rest_ms(15'000);  // the providers dial again
  }
  static const std::map<core::Digest, Amount>& asked(Market& market) {
    return market.gateway().ledger().asked.rows();
  }
  static const ledger::ClaimRow& claim(Market& market, const core::Digest& ticket) {
    return *market.gateway().ledger().claims.find(ticket);
  }
  /// What came of it.
  core::Result<void> send(Market& market, ledger::Body body) {
    ledger::Transaction made;
    made.ledger = market.gateway().address();
    made.sender = buyer_.address();
    made.nonce = market.gateway().ledger().nonces.get(made.sender);
    made.body = std::move(body);
    ledger::sign(buyer_, made);
    core::Result<void> outcome = core::fail(core::ErrorCode::kInternal, "nothing came of it");
    market.gateway().transact(made, [&](core::Result<crypto::Address> sender) {
      outcome = sender ? core::Result<void>() : tl::unexpected(sender.error());
    });
    market.rest_ms(1);
    return outcome;
  }
  /// One answer, whose claim is for sale and then bought.
  core::Digest buy_one(Market& market) {
    EXPECT_TRUE(market.infer("digits", picture(0)));
    market.rest_ms(2'000);
    EXPECT_EQ(asked(market).size(), 1u);
    if (asked(market).empty()) return {};
    const core::Digest ticket = asked(market).begin()->first;
    const auto bought = send(market, ledger::Buy{ticket, asked(market).begin()->second});
    EXPECT_TRUE(bought) << bought.error().message;
    market.rest_ms(10);
    return ticket;
  }
  std::uint64_t available(Market& market, const crypto::Address& owner) const {
    return balance(market, owner, AccountKind::kAvailable).low();
  }
  std::uint64_t buyers(Market& market) const { return available(market, buyer_.address()); }
  static void check_all(Market& market, std::size_t provider) {
    check(market, {market.address_of(provider)});
    const auto sound = market.check_money();
    EXPECT_TRUE(sound) << sound.error().message;
    const ticket::Totals theirs = market.status_of(provider).tickets;
    const ticket::Totals& ours = market.gateway().tickets().totals();
    EXPECT_EQ(theirs.value_paid, ours.value_paid);
    EXPECT_EQ(theirs.paid, ours.paid);
  }

  core::CounterRng rng_{77};
  const crypto::SecretKey buyer_ = crypto::SecretKey::generate(rng_);
};

TEST_F(MoneySales, AProviderSellsItsWinnersAndWhoBoughtThemIsPaid) {
  auto market = open_for_sale(41);
  const std::size_t seller = add(*market, "seller");
  const core::Digest ticket = buy_one(*market);
  EXPECT_EQ(claim(*market, ticket).holder, buyer_.address());
  EXPECT_EQ(available(*market, market->address_of(seller)), kPrice);
  EXPECT_EQ(market->status_of(seller).tickets.value_paid, Amount(kPrice));
  EXPECT_EQ(market->status_of(seller).balance->available, Amount(kPrice));
  EXPECT_EQ(market->gateway().tickets().count(ticket::State::kSold), 1u);
  start_audits(*market);
  EXPECT_EQ(claim(*market, ticket).status, ClaimStatus::kPaid);
  EXPECT_EQ(buyers(*market), 10 * kFace - kPrice + kFace);
  EXPECT_EQ(available(*market, market->address_of(seller)), kPrice);
  check_all(*market, seller);
}

TEST_F(MoneySales, WhatACheatHasSoldIsPaidToNobodyAndItsStakeAnswers) {
  auto market = open_for_sale(42);
  const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
  const core::Digest ticket = buy_one(*market);
  start_audits(*market);
  EXPECT_EQ(claim(*market, ticket).status, ClaimStatus::kRefused);
  EXPECT_EQ(buyers(*market), 10 * kFace - kPrice);
  EXPECT_EQ(balance(*market, market->address_of(cheat), AccountKind::kStake), Amount());
  EXPECT_EQ(available(*market, market->address_of(cheat)), kPrice);
  EXPECT_EQ(market->gateway().tickets().totals().slashed, 1u);
  EXPECT_EQ(market->status_of(cheat).tickets.slashed, 1u);
  check_all(*market, cheat);
}

TEST_F(MoneySales, WhatNobodyAuditsIsPaidToItsBuyerInTime) {
  auto market = open_for_sale(43);
  const std::size_t seller = add(*market, "seller");
  (void)buy_one(*market);
  market->rest_ms(kAuditMs + 1'000);
  EXPECT_EQ(market->money().matured, 1u);
  EXPECT_EQ(buyers(*market), 10 * kFace - kPrice + kFace);
  check_all(*market, seller);
}

// Both are told in its next life what it got, which is not what the ticket paid.
TEST_F(MoneySales, AProviderThatIsAwayWhileItsClaimIsSoldHearsOfIt) {
  for (const bool is_paid_meanwhile : {false, true}) {
    auto market = open_for_sale(44);
    const std::size_t seller = add(*market, "seller");
    ASSERT_TRUE(market->infer("digits", picture(0)));
    market->rest_ms(2'000);
    ASSERT_EQ(asked(*market).size(), 1u);
    market->kill_provider(seller);
    ASSERT_TRUE(send(*market, ledger::Buy{asked(*market).begin()->first, Amount(kPrice)}));
    if (is_paid_meanwhile) start_audits(*market);
    market->start_provider(seller);
    market->rest_ms(15'000);
    EXPECT_EQ(market->status_of(seller).tickets.value_paid, Amount(kPrice));
    EXPECT_EQ(market->status_of(seller).tickets.paid, is_paid_meanwhile ? 1u : 0u);
    if (!is_paid_meanwhile) start_audits(*market);
    check_all(*market, seller);
  }
}

TEST_F(MoneySales, ASaleIsBookedOnBothSidesThoughTheGatewayDiesAtAnyWrite) {
  int sold = 0;
  for (std::uint64_t write = 0; write < 24; ++write) {
    SCOPED_TRACE(write);
    auto market = open_for_sale(45);
    const std::size_t seller = add(*market, "seller");
    market->kill_gateway();
    market->break_gateway_at(write, write % 2 == 0 ? Fault::kCrashBefore : Fault::kCrashAfter);
    ASSERT_TRUE(market->start_gateway());
    market->rest_ms(15'000);
    (void)market->infer("digits", picture(1), 15'000);
    market->rest_ms(2'000);
    if (!market->gateway_crashed() && !asked(*market).empty()) {
      (void)send(*market, ledger::Buy{asked(*market).begin()->first, Amount(kPrice)});
    }
    market->kill_gateway();
    ASSERT_TRUE(market->start_gateway());
    market->rest_ms(15'000);
    start_audits(*market);
    market->rest_ms(kAuditMs);
    sold += buyers(*market) == 10 * kFace - kPrice + kFace ? 1 : 0;
    check_nothing_is_open(*market);
    check_all(*market, seller);
  }
  EXPECT_GT(sold, 8);
  EXPECT_LT(sold, 24);
}

TEST_F(MoneySales, NothingIsForSaleUnlessItsProviderSaysSo) {
  auto market = open_for_sale(46, 0);
  const std::size_t index = add(*market, "keeps");
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->rest_ms(5'000);
  EXPECT_EQ(market->gateway().tickets().count(ticket::State::kOpened), 1u);
  EXPECT_TRUE(asked(*market).empty());
  start_audits(*market);
  EXPECT_EQ(available(*market, market->address_of(index)), kFace);
  check_all(*market, index);
}

// More than the ledger takes of one sender at once: the rest is offered later.
TEST_F(MoneySales, EveryWinnerIsOfferedHoweverManyThereAreAndOnce) {
  constexpr std::uint64_t kAnswers = 60;
  auto market = open_for_sale(47);
  (void)add(*market, "seller");
  for (std::uint64_t i = 0; i < kAnswers; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
  market->rest_ms(20'000);
  EXPECT_EQ(asked(*market).size(), kAnswers);
  const std::uint64_t entries = market->gateway().ledger().scalars.entries;
  market->rest_ms(5'000);
  EXPECT_EQ(market->gateway().ledger().scalars.entries, entries);
}

TEST_F(MoneySales, TheDeskQuotesWhatIsForSale) {
  auto market = open_for_sale(48);
  const std::size_t seller = add(*market, "seller");
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->rest_ms(2'000);
  gateway::ClaimDesk& desk = market->gateway().claims();
  const auto tickets = desk.tickets(true, {}, 10);
  ASSERT_EQ(tickets.size(), 1u);
  EXPECT_EQ(desk.tickets(false, {}, 10), tickets);
  EXPECT_TRUE(desk.tickets(true, tickets[0], 10).empty()) << "nothing is behind it";
  const auto open = desk.claim(tickets[0]);
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_EQ(open->model, "consumer/digits");
  EXPECT_EQ(open->asked, Amount(kPrice));
  EXPECT_EQ(open->row.holder, market->address_of(seller));
  const double right = open->quote.made.right.value;
  EXPECT_GT(right, 0.9);
  EXPECT_LT(right, 1);
  EXPECT_NEAR(open->quote.made.claim_price.value, kFace * right, 1e-6 * kFace);
  // Once it is audited nobody need guess, and its ticket pays no more.
  start_audits(*market);
  EXPECT_FALSE(market->gateway().claims().claim(tickets[0]));
  const auto record = market->gateway().receipts().list("", 1)->front();
  const auto audited = market->gateway().claims().quote(record);
  ASSERT_TRUE(audited);
  EXPECT_GT(audited->made.right.value, 1 - 1e-6);
  EXPECT_EQ(audited->made.claim_price.value, 0);
}

}  // namespace
}  // namespace commensal::sim
