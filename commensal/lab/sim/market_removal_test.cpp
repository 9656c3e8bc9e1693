// SPDX-License-Identifier: Apache-2.0
// When the file of a model that was deleted goes: not while an answer of it may be audited or
// disputed, a case is open or a rollout runs; but then.
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/rollout_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using ledger::CaseStatus;

constexpr std::int64_t kHour = 3'600'000;

class MoneyRemoval : public MoneyRollouts {
 protected:
  /// Deletes a model of the consumer's; returns where its file is.
  static core::Path remove(Market& market, const std::string& model) {
    const auto found = market.gateway().hub().find(&kConsumer, model);
    EXPECT_TRUE(found);
    EXPECT_TRUE(market.gateway().hub().remove(kConsumer, model));
    market.rest_ms(1);
    EXPECT_FALSE(market.gateway().hub().is_purging());
    EXPECT_FALSE(market.gateway().hub().find(&kConsumer, model));
    return market.gateway().hub().path_of(found->content);
  }
  static bool is_there(const core::Path& file) { return std::filesystem::exists(file); }
};

TEST_F(MoneyRemoval, AFileStaysAsLongAsReceiptsOfItDo) {
  receipts_.age_ms_max = 10 * kHour;
  auto market = open(51, 0.5);
  prepare(*market);
  ASSERT_TRUE(market->push("unused", *core::read_file(kLetters)));
  add(*market, "honest");
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->rest_ms(2 * kHour);
  const core::Path used = remove(*market, "consumer/digits");
  const core::Path unused = remove(*market, "consumer/unused");
  market->rest_ms(kHour / 2);
  EXPECT_TRUE(is_there(unused));
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(kHour);
  EXPECT_FALSE(is_there(unused));
  market->rest_ms(6 * kHour);
  EXPECT_TRUE(is_there(used));
  market->rest_ms(kHour);
  EXPECT_FALSE(is_there(used));
}

TEST_F(MoneyRemoval, AFileStaysWhileACaseIsOpen) {
  receipts_.age_ms_max = kHour;
  audit_probability_ = 1;
  auto market = open(52, 0.5);
  prepare(*market);
  const std::size_t cheat = add(*market, "cheat", make_bf16_cheat());
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->kill_provider(cheat);
  market->rest_ms(1'000);
  const core::Path file = remove(*market, "consumer/digits");
  market->rest_ms(30 * kHour);
  ASSERT_EQ(cases_of(*market).size(), 1u);
  ASSERT_EQ(cases_of(*market)[0].status, CaseStatus::kAccused);
  EXPECT_TRUE(is_there(file));
  market->start_provider(cheat);
  market->rest_ms(10'000);
  EXPECT_EQ(cases_of(*market)[0].status, CaseStatus::kConvicted);
  market->rest_ms(kHour);
  EXPECT_FALSE(is_there(file));
}

TEST_F(MoneyRemoval, AFileStaysWhileARolloutRuns) {
  receipts_.age_ms_max = 1'000;
  auto market = open(53, 0.3);
  prepare_letters(*market);
  const std::size_t index = add(*market, "a");
  const auto request = letters(40, 16, 0);
  ASSERT_TRUE(market->gateway().rollouts().create(request));
  market->pause(index, "the host is busy");
  const core::Path file = remove(*market, "consumer/letters");
  market->rest_ms(3 * kHour);
  ASSERT_EQ(market->gateway().rollouts().create(request)->entry.state, RolloutState::kRunning);
  EXPECT_TRUE(is_there(file));
  market->pause(index, "");
  EXPECT_EQ(drive(*market, request).entry.state, RolloutState::kFinished);
  market->rest_ms(kHour);
  EXPECT_FALSE(is_there(file));
}

}  // namespace
}  // namespace commensal::sim
