// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/testing/dispatcher_fixture.hpp>

namespace commensal::gateway {
namespace {

class JourneyOf : public testing::DispatcherOf {
 protected:
  void SetUp() override {
    DispatcherOf::SetUp();
    clock_.advance_ms(1'000);
    journey_ = std::make_shared<Journey>();
    journey_->name = {"order-7", "4bf9"};
  }
  rpc::Offer last_offer() const { return heard_->all<rpc::Offer>().back(); }
};

TEST_F(JourneyOf, AProviderIsToldTheRequestsNameIfItTakesIt) {
  ask();
  EXPECT_EQ(last_offer().request, std::nullopt);
  EXPECT_EQ(last_offer().batching, std::nullopt);
  roster_.at(stream_)->knows_batching = roster_.at(stream_)->knows_requests = true;
  ask();
  EXPECT_EQ(last_offer().request, (rpc::RequestName{"order-7", "4bf9"}));
  EXPECT_EQ(last_offer().batching, rpc::Batching::any());
  scheduling_.batching = rpc::Batching{5'000, 8, {4}};
  ask();
  EXPECT_EQ(last_offer().batching, scheduling_.batching);
  journey_ = nullptr;  // the gateway's own affair
  ask();
  EXPECT_EQ(last_offer().request, std::nullopt);
}

TEST_F(JourneyOf, HasTimesAndTheRunThatItIsToldOf) {
  const protocol::Job job = ask();
  EXPECT_EQ(journey_->offered_ns, 1'000'000'000);
  EXPECT_EQ(journey_->committed_ns, 0);
  EXPECT_EQ(journey_->offers, 1u);
  EXPECT_EQ(journey_->provider, provider_key_.address());
  clock_.advance_ms(20);
  commit_of(stream_, {{commit(job, provider_key_)}, {{{0, 2, 5, 3'000'000}}}});
  EXPECT_EQ(journey_->committed_ns, 1'020'000'000);
  EXPECT_TRUE(journey_->tells_runs);
  EXPECT_EQ(journey_->run, (rpc::Commit::Run{0, 2, 5, 3'000'000}));
  deliver(job);
  EXPECT_EQ(answers_, std::vector{true});
}

TEST_F(JourneyOf, IsOfTheLastProviderWhichMayNotTell) {
  const protocol::Job job = ask();
  connect_other();
  clock_.advance_ms(20);
  steps_.on_refuse(stream_, {protocol::job_id(job), {core::ErrorCode::kUnavailable, "no"}});
  loop_.run_until_idle();
  EXPECT_EQ(journey_->offers, 2u);
  EXPECT_EQ(journey_->offered_ns, 1'020'000'000);
  EXPECT_EQ(journey_->provider, other_key_.address());
  const protocol::Job again = other_heard_->all<rpc::Offer>().back().job;
  commit_of(other_stream_, {{commit(again, other_key_)}});
  EXPECT_FALSE(journey_->tells_runs);
  EXPECT_EQ(journey_->run, std::nullopt);
}

TEST_F(JourneyOf, NoRunIsLongerThanItWasWaitedFor) {
  const protocol::Job job = ask();
  clock_.advance_ms(20);
  commit_of(stream_, {{commit(job, provider_key_)}, {{{0, 1, 1, ~std::uint64_t{0}}}}});
  ASSERT_TRUE(journey_->run);
  EXPECT_EQ(journey_->run->took_ns, 20'000'000u);
}

}  // namespace
}  // namespace commensal::gateway
