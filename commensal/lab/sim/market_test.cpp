// SPDX-License-Identifier: Apache-2.0
// The whole trip in one thread, in virtual time: honest and cheating providers, silence, cuts, and
// a crash at every write of either side.
#include <gtest/gtest.h>

#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/liars.hpp>
#include <commensal/lab/sim/testing/market_fixture.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <set>

namespace commensal::sim {
namespace {

using namespace testing;
using gateway::AuditState;
using gateway::ReceiptRecord;
using store::testing::Fault;

class SimMarket : public ::testing::Test {
 protected:
  std::unique_ptr<Market> open(std::uint64_t seed, double audit_probability,
                               bool are_openings_files = false) {
    gateway::GatewayConfig config;
    config.audit_probability = audit_probability;
    if (are_openings_files) config.receipts.opening_row_max = 0;
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    auto market = std::make_unique<Market>(seed, scratch(test->name()), config);
    EXPECT_TRUE(market->start_gateway());
    return market;
  }
  static std::vector<ReceiptRecord> all(Market& market) {
    auto records = *market.gateway().receipts().select([](const ReceiptRecord&) { return true; });
    for (ReceiptRecord& record : records) record = *market.gateway().receipts().find(record.id());
    return records;
  }
  void die_at(std::uint64_t write, Fault fault, bool are_openings_files);
  /// That openings are in.
  static std::size_t files() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::size_t count = 0;
    for (const auto& one : std::filesystem::recursive_directory_iterator(scratch(test->name()))) {
      if (one.is_regular_file() && one.path().parent_path().filename() == "openings") ++count;
    }
    return count;
  }
  /// Holds after every step: receipts verify and open, honest providers are not accused.
  static void check_invariants(Market& market, const std::set<crypto::Address>& honest) {
    for (const ReceiptRecord& record : all(market)) {
      ASSERT_TRUE(protocol::verify_receipt(record.receipt));
      const auto opening = market.gateway().receipts().opening(record);
      ASSERT_TRUE(opening.has_value());
      ASSERT_TRUE(receipt::check_opening(*opening, record.receipt.body()));
      if (honest.contains(record.receipt.job.provider)) {
        ASSERT_NE(record.audit, AuditState::kMismatched);
      }
    }
    for (const auto& info : market.gateway().providers()) {
      if (honest.contains(info.address)) {
        ASSERT_EQ(info.banned, "");
      }
    }
  }
};

TEST_F(SimMarket, HonestProvidersShareEvenlyAndEveryAuditMatches) {
  auto market = open(1, 1.0);
  ASSERT_TRUE(market->push("digits", digits()));
  std::set<crypto::Address> honest;
  for (const char* name : {"a", "b", "c"}) {
    honest.insert(market->address_of(market->add_provider(name)));
  }
  for (std::uint64_t i = 0; i < 30; ++i) {
    const auto answer = market->infer("digits", picture(i));
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    check_invariants(*market, honest);
  }
  market->rest_ms(1000);
  EXPECT_EQ(market->gateway().audits_pending(), 0u);
  for (const auto& info : market->gateway().providers()) {
    EXPECT_NEAR(static_cast<double>(info.served), 10, 1);
  }
  for (const ReceiptRecord& record : all(*market)) EXPECT_EQ(record.audit, AuditState::kMatched);
}

TEST_F(SimMarket, ACheatIsCaughtBannedAndItsAnswersAreReplaced) {
  for (const bool lazy : {false, true}) {
    auto market = open(2, 0.2);
    ASSERT_TRUE(market->push("digits", digits()));
    const std::set<crypto::Address> honest = {market->address_of(market->add_provider("a")),
                                              market->address_of(market->add_provider("b"))};
    const auto cheat = market->address_of(
        market->add_provider("cheat", lazy ? make_lazy_cheat() : make_bf16_cheat()));
    std::uint64_t served_after_ban = 0;
    for (std::uint64_t i = 0; i < 120; ++i) {
      bool banned = false;
      for (const auto& info : market->gateway().providers()) {
        if (info.address == cheat) banned = !info.banned.empty();
      }
      const auto answer = market->infer("digits", picture(i));
      ASSERT_TRUE(answer.has_value()) << answer.error().message;
      if (banned && answer->provider == cheat) ++served_after_ban;
    }
    market->rest_ms(5000);
    check_invariants(*market, honest);
    EXPECT_EQ(served_after_ban, 0u);
    std::size_t replaced = 0;
    for (const ReceiptRecord& record : all(*market)) {
      if (record.receipt.job.provider != cheat) continue;
      ASSERT_NE(record.audit, AuditState::kMatched);
      ASSERT_TRUE(record.replaced_by.has_value());
      const auto now = market->gateway().receipts().find(*record.replaced_by);
      ASSERT_TRUE(now.has_value());
      EXPECT_TRUE(honest.contains(now->receipt.job.provider));
      EXPECT_EQ(market->gateway().receipts().opening(*now)->task.inputs[0].value.bytes().size(),
                256u);
      ++replaced;
    }
    EXPECT_GT(replaced, 0u);
  }
}

// Who refuses everything at once has always the shortest queue and has served least.
TEST_F(SimMarket, WhoRefusesEverythingNeitherWinsTheChoicesNorEndsARequest) {
  auto market = open(5, 0.0);
  ASSERT_TRUE(market->push("digits", digits()));
  const auto honest = market->address_of(market->add_provider("honest"));
  int asked = 0;
  for (const char* name : {"r1", "r2"}) market->add_provider(name, make_refuser(&asked));
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto answer = market->infer("digits", picture(i));
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    ASSERT_EQ(answer->provider, honest);
  }
  EXPECT_LE(asked, 20) << "of 200, if both were asked first each time";
}

// The fault: a new provider that is silent held a request for ten seconds.
TEST_F(SimMarket, NewProvidersThatAreSilentCostARequestMilliseconds) {
  auto market = open(8, 0.0);
  ASSERT_TRUE(market->push("digits", digits()));
  market->add_provider("honest");
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
  for (const char* name : {"s1", "s2", "s3", "s4"}) market->stall(market->add_provider(name), 1e9);
  int slow = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    if (market->infer("digits", picture(i), 5)) continue;
    ++slow;
    market->rest_ms(40);
  }
  EXPECT_LE(slow, 12);
  EXPECT_EQ(all(*market).size(), 404u) << "and nobody without an answer";
}

// The fault: a wrong answer that came after somebody else's, to a request that was answered, was
// computed once more, for nobody, at the gateway's cost.
TEST_F(SimMarket, AWrongAnswerThatNobodyWaitsForIsAuditedButNotReplaced) {
  auto market = open(10, 1.0);
  ASSERT_TRUE(market->push("digits", digits()));
  market->add_provider("honest");
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
  market->set_delay_ms(4);  // its commitment comes in time, what it committed to comes late
  const auto late = market->address_of(market->add_provider("late", make_lazy_cheat()));
  market->rest_ms(100);
  for (std::uint64_t i = 4; i < 8; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
  market->rest_ms(60'000);
  int caught = 0;
  for (const ReceiptRecord& record : all(*market)) {
    if (record.receipt.job.provider != late) continue;
    ++caught;
    EXPECT_EQ(record.audit, AuditState::kMismatched);
    EXPECT_FALSE(record.replaced_by);
  }
  EXPECT_GE(caught, 1);
  EXPECT_EQ(all(*market).size(), 8u + static_cast<std::size_t>(caught));
}

TEST_F(SimMarket, AKnownProviderThatStandsStillHoldsARequestForASecond) {
  auto market = open(9, 0.0);
  ASSERT_TRUE(market->push("digits", digits()));
  const std::size_t a = market->add_provider("a");
  market->add_provider("b");
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(market->infer("digits", picture(i)));
  market->stall(a, 60'000);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(market->infer("digits", picture(i), 1'100)) << i;
  }
  market->rest_ms(60'000);
  for (std::uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(market->infer("digits", picture(i), 100));
  EXPECT_GT(market->status_of(a).delivered, 10u) << "it is as good as the other again";
}

// The fault: what takes longer than --silence-ms was taken for silence, and the stream was cut.
TEST_F(SimMarket, WhatTakesLongIsWaitedFor) {
  auto market = open(10, 0.0);
  ASSERT_TRUE(market->push("digits", digits()));
  market->stall(market->add_provider("only"), 35'000);
  EXPECT_FALSE(market->infer("digits", picture(0), 34'000));
  market->rest_ms(2'000);
  EXPECT_EQ(all(*market).size(), 1u);
}

TEST_F(SimMarket, WhereItIsTheOnlyOneItsWordIsTold) {
  auto market = open(6, 0.0);
  ASSERT_TRUE(market->push("digits", digits()));
  market->add_provider("only", make_refuser());
  const auto answer = market->infer("digits", picture(0));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_EQ(answer.error().message, "this request is wrong");
}

TEST_F(SimMarket, AModelThatIsNotThereIsNotFound) {
  auto market = open(3, 0.0);
  const auto none = market->infer("nothing", picture(0));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, core::ErrorCode::kNotFound);
}

TEST_F(SimMarket, SaysWhyWhenNobodyCanServe) {
  auto market = open(4, 0.0);
  ASSERT_TRUE(market->push("open", digits()));
  ASSERT_TRUE(market->push("secret", digits(), {.is_private = true, .allowed_providers = {}}));
  EXPECT_NE(market->infer("open", picture(0)).error().message.find("none is connected"),
            std::string::npos);
  const std::size_t only = market->add_provider("only");
  const auto refused = market->infer("secret", picture(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("allow-list"), std::string::npos);
  ASSERT_TRUE(market->push("secret", digits(),
                           {.is_private = true, .allowed_providers = {market->address_of(only)}}));
  EXPECT_TRUE(market->infer("secret", picture(0)));
  tensor::NamedTensors wrong = {{"image", tensor::Tensor::of<float>({1}, std::vector<float>{1})}};
  const auto bad = market->infer("open", wrong);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_NE(bad.error().message.find("'image' float32[-1,1,8,8]"), std::string::npos);
}

// A full disk: whoever asks is told, at once, and a new gateway on the same store goes on.
TEST_F(SimMarket, AGatewayWhoseStoreFailedSaysThatItIsNotReady) {
  auto market = open(7, 0.0);
  ASSERT_TRUE(market->push("digits", digits()));
  market->add_provider("a");
  ASSERT_TRUE(market->infer("digits", picture(0)));
  EXPECT_EQ(market->gateway().why_not_ready(nullptr), "");
  market->kill_gateway();
  market->break_gateway_at(1, Fault::kFailBefore);
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(10'000);  // its provider dials again
  for (std::uint64_t i = 0; i < 3; ++i) (void)market->infer("digits", picture(i));
  EXPECT_NE(market->gateway().why_not_ready(nullptr).find("cannot write any more"),
            std::string::npos);
  ASSERT_TRUE(market->gateway().failure().has_value());
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(10'000);
  EXPECT_TRUE(market->infer("digits", picture(1)));
}

/// The gateway dies at a write, and goes on.
void SimMarket::die_at(std::uint64_t write, Fault fault, bool are_openings_files) {
  auto market = open(5, 0.5, are_openings_files);
  ASSERT_TRUE(market->push("digits", digits()));
  market->kill_gateway();
  market->break_gateway_at(write, fault);
  ASSERT_TRUE(market->start_gateway());
  const std::set<crypto::Address> honest = {market->address_of(market->add_provider("a"))};
  const auto cheat = market->address_of(market->add_provider("cheat", make_bf16_cheat()));
  std::set<core::Digest> acknowledged;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto answer = market->infer("digits", picture(i), 20'000);
    if (answer) acknowledged.insert(answer->receipt);
    if (market->gateway_crashed()) break;
  }
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  EXPECT_EQ(files(), are_openings_files ? all(*market).size() : 0);
  market->rest_ms(60'000);
  check_invariants(*market, honest);
  for (const core::Digest& id : acknowledged) {
    ASSERT_TRUE(market->gateway().receipts().find(id));
  }
  // Whatever was drawn or doubtful before the crash has been settled after it.
  EXPECT_EQ(market->gateway().audits_pending(), 0u);
  for (const ReceiptRecord& record : all(*market)) {
    EXPECT_NE(record.audit, AuditState::kDrawn);
    const bool caught = record.receipt.job.provider == cheat && record.verdict;
    EXPECT_TRUE(!caught || record.replaced_by.has_value());
  }
  ASSERT_TRUE(market->infer("digits", picture(77)));
}

TEST_F(SimMarket, AGatewayThatDiesAtAnyWriteLosesNothingAcknowledged) {
  for (std::uint64_t write = 0; write < 40; ++write) {
    for (const bool are_openings_files : {false, true}) {
      for (const Fault fault : {Fault::kCrashBefore, Fault::kCrashAfter}) {
        SCOPED_TRACE(fmt::format("write {}", write));
        die_at(write, fault, are_openings_files);
      }
    }
  }
}

TEST_F(SimMarket, TheSameSeedEndsInTheSameState) {
  const auto run = [this](std::uint64_t seed) {
    auto market = open(seed, 0.3);
    EXPECT_TRUE(market->push("digits", digits()));
    market->add_provider("a");
    market->add_provider("b");
    market->add_provider("cheat", make_bf16_cheat());
    for (std::uint64_t i = 0; i < 40; ++i) {
      if (i % 7 == 3) market->cut(i % 3);
      const auto answer = market->infer("digits", picture(i));
      EXPECT_TRUE(answer.has_value()) << answer.error().message;
      market->rest_ms(50);  // a provider that was cut off dials again after 100 ms
    }
    market->rest_ms(30'000);
    return market->state_hash();
  };
  const core::Digest first = run(7);
  EXPECT_EQ(run(7), first);
  EXPECT_NE(run(8), first);
}

}  // namespace
}  // namespace commensal::sim
