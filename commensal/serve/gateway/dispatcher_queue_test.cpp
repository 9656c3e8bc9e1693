// SPDX-License-Identifier: Apache-2.0
// What waits for a provider, as its model is configured.
#include <gmock/gmock.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/testing/dispatcher_fixture.hpp>

namespace commensal::gateway {
namespace {

using ::testing::HasSubstr;

class QueueOf : public testing::DispatcherOf {
 protected:
  /// As many as an account that knows levels may have at the provider.
  void fill(const std::string& account) {
    scheduling_.level = 2;
    for (std::uint32_t i = 0; i < limits::kPriorityJobsMax; ++i) ask(account);
    ASSERT_EQ(offers().size(), limits::kPriorityJobsMax);
  }
  std::vector<rpc::Offer> offers() const { return heard_->all<rpc::Offer>(); }
  float number_of_last() const { return inputs_[0].value.data<float>()[0]; }
  /// The provider is done with so many; the numbers of those that it is offered then.
  std::vector<float> free(std::size_t count) {
    const std::size_t before = offers().size();
    for (std::size_t i = 0; i < count; ++i) {
      const core::Digest job = protocol::job_id(offers()[done_++].job);
      steps_.on_refuse(stream_, {job, {core::ErrorCode::kUnavailable, "not now"}});
    }
    loop_.run_until_idle();
    answers_.clear();
    std::vector<float> numbers;
    const auto all = offers();
    for (std::size_t i = before; i < all.size(); ++i)
      numbers.push_back(all[i].inputs[0].value.data<float>()[0]);
    return numbers;
  }
  std::size_t done_ = 0;
};

TEST_F(QueueOf, TheLowestLevelIsTheFirstOfItsAccount) {
  fill("a");
  ask("a");
  const float third = number_of_last();
  scheduling_.level = 3;
  ask("a");
  const float fourth = number_of_last();
  scheduling_.level = 1;
  ask("a");
  const float first = number_of_last();
  ask("a");
  const float second = number_of_last();
  EXPECT_EQ(free(4), (std::vector<float>{first, second, third, fourth}));
}

TEST_F(QueueOf, NoLevelWinsATurnFromAnotherAccount) {
  fill("a");
  for (int i = 0; i < 3; ++i) ask("a");
  scheduling_.level = 1;
  ask("a");
  const float urgent = number_of_last();
  scheduling_.level = 0;
  ask("b");  // two of its own at once
  ask("b");
  ask("b");
  const float other = number_of_last();
  clock_.advance_ms(limits::kOthersMs);
  const std::vector<float> next = free(1);
  EXPECT_EQ(next, (std::vector<float>{urgent, other}));
}

TEST_F(QueueOf, OnlySoManyOfALevelWait) {
  fill("a");
  scheduling_.queue_max = 2;
  for (int i = 0; i < 3; ++i) ask("a");
  loop_.run_until_idle();
  EXPECT_EQ(answers_, std::vector<bool>{false});
  EXPECT_THAT(why_, HasSubstr("Exceeds maximum queue size: 2"));
  scheduling_.level = 1;
  ask("a");
  loop_.run_until_idle();
  EXPECT_EQ(answers_.size(), 1u) << "another level has room of its own";
  scheduling_.level = 2;
  for (int i = 0; i < 4; ++i) ask("b");  // two at once
  loop_.run_until_idle();
  EXPECT_EQ(answers_.size(), 1u) << "and so has another account";
}

TEST_F(QueueOf, WhoHasWaitedTooLongIsRejectedOrGoesBehindTheOthers) {
  fill("a");
  scheduling_.queue_timeout_ms = 20;
  ask("a");  // is rejected
  scheduling_.is_delayed_then = true;
  ask("a");
  const float delayed = number_of_last();
  loop_.advance_ms(19);
  EXPECT_EQ(answers_.size(), 0u);
  loop_.advance_ms(1);
  EXPECT_EQ(answers_, std::vector<bool>{false});
  EXPECT_THAT(why_, HasSubstr("Request timeout expired"));
  ask("a");
  const float later = number_of_last();
  EXPECT_EQ(free(2), (std::vector<float>{later, delayed}));
  loop_.advance_ms(100);
  EXPECT_EQ(answers_.size(), 0u) << "who is at a provider does not wait here";
}

// Those of before refuse what they do not know.
TEST_F(QueueOf, AProviderIsToldOfBatchesIfItKnowsOfThem) {
  scheduling_.batching = rpc::Batching{5'000, 8, {4}};
  ask();
  EXPECT_EQ(offers().back().batching, std::nullopt);
  roster_.at(stream_)->knows_batching = true;
  ask();
  EXPECT_EQ(offers().back().batching, scheduling_.batching);
  timeout_ms_ = 3;
  ask();
  EXPECT_EQ(offers().back().batching, (rpc::Batching{3'000, 8, {4}})) << "not past its end";
}

}  // namespace
}  // namespace commensal::gateway
