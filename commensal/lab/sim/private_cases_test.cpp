// SPDX-License-Identifier: Apache-2.0
// Accusations over answers from private inputs: whom they show what.
#include <algorithm>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/private_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using ledger::CaseStatus;

class PrivateCases : public PrivateMarket {
 protected:
  void SetUp() override {
    PrivateMarket::SetUp();
    audit_probability_ = 1;
  }
};

// The fault: an accusation was a way to be sent private inputs with nothing but a key.
TEST_F(PrivateCases, ShowTheInputsToAnAccusedThatIsVouchedForAndNoOther) {
  auto market = open(81, 0.5);
  prepare(*market);
  const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
  vouch(*market, cheat, market->clock().wall_ms() + 60'000);
  ASSERT_TRUE(ask(*market, 1, true));
  market->kill_provider(cheat);
  market->rest_ms(120'000);  // so long that its statement has ended
  ASSERT_EQ(cases_of(*market).size(), 1u);
  int told = 0, marked = 0;
  market->overhear([&](std::size_t, const rpc::ToProvider& word) {
    told += std::holds_alternative<rpc::Accused>(word) ? 1 : 0;
    marked += has_marker(word) ? 1 : 0;
  });
  market->show(cheat, {});
  market->start_provider(cheat);
  market->rest_ms(30'000);
  market->cut(cheat);
  market->rest_ms(30'000);
  EXPECT_EQ(told, 0);
  EXPECT_EQ(marked, 0);
  EXPECT_EQ(cases_of(*market)[0].status, CaseStatus::kAccused);
  EXPECT_EQ(stake(*market, cheat), terms_.provider.stake);
  vouch(*market, cheat, kLater);
  market->rest_ms(10'000);
  EXPECT_EQ(told, 1);
  EXPECT_GE(marked, 1);
  EXPECT_EQ(cases_of(*market)[0].status, CaseStatus::kConvicted);
  EXPECT_EQ(stake(*market, cheat), Amount());
}

// The fault: any auditor's token, and the accuser's address, were enough to hear them.
TEST_F(PrivateCases, ShowTheirMovesToTheirAccountAndNoAuditorElsewhere) {
  for (const bool is_private : {true, false}) {
    outside_auditors_ = true;
    auto market = open(83, 0.5);
    prepare(*market);
    const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
    market->set_delay_ms(5);  // so that there is a time between its moves
    vouch(*market, cheat, kLater);
    ASSERT_TRUE(ask(*market, 1, is_private));
    for (int i = 0; i < 4'000 && cases_of(*market).empty(); ++i) market->rest_ms(1);
    market->gateway().stop_computing();  // it owes a move, and makes none
    market->rest_ms(2'000);
    ASSERT_EQ(cases_of(*market).size(), 1u);
    ASSERT_EQ(cases_of(*market)[0].status, CaseStatus::kContested);
    const auto shows = [&](const cases::Wanted& wanted) {
      const gateway::Gateway& live = market->gateway();
      return live.next_case(live.address(), arbiter::Side::kChallenger, wanted).has_value();
    };
    EXPECT_TRUE(shows({})) << "an operator's";
    EXPECT_TRUE(shows({.account = "consumer"}));
    EXPECT_FALSE(shows({.account = "trudy"}));
    EXPECT_EQ(shows({.account = "trudy", .or_public = true}), !is_private) << "an auditor's";
  }
}

TEST_F(PrivateCases, AreNotBroughtWhereTheLedgerWouldBeShownTensors) {
  for (const std::optional<int> noise : {std::optional<int>(16), std::optional<int>()}) {
    auto market = open(84, 0.5);
    prepare_letters(*market);
    const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
    vouch(*market, cheat, kLater);
    gateway::RolloutRequest request = letters(20, noise, 1);
    request.privacy_class = "medical";
    EXPECT_EQ(drive(*market, request).entry.state, RolloutState::kCaught);
    market->rest_ms(5'000);
    const auto rows = cases_of(*market);
    const auto providers = market->gateway().providers();
    ASSERT_EQ(providers.size(), 1u);
    EXPECT_NE(providers[0].banned, "");
    EXPECT_EQ(rows.empty(), noise.has_value());
    EXPECT_EQ(stake(*market, cheat), noise ? terms_.provider.stake : Amount());
    EXPECT_EQ(balance(*market, market->address_of(cheat), AccountKind::kAvailable), Amount());
  }
}

}  // namespace
}  // namespace commensal::sim
