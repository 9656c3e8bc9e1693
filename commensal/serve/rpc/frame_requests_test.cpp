// SPDX-License-Identifier: Apache-2.0
// What an offer says of its request, what commitments say of runs, and to whom.
#include <gmock/gmock.h>

#include <commensal/base/core/limits_observe.hpp>
#include <commensal/serve/rpc/frame.hpp>

namespace commensal::rpc {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class Message>
std::string refusal(wire::Frame frame) {
  const auto read = from_frame<Message>(std::move(frame));
  return read ? "accepted" : read.error().message;
}

Commit commit_of(std::size_t items) {
  Commit commit;
  for (std::size_t i = 0; i < items; ++i)
    commit.items.push_back({core::Digest{1}, i, core::Digest{2}, 3, {}});
  return commit;
}

TEST(FrameOfRequests, AnOfferNamesItsRequestAtItsEndOrNothing) {
  Offer offer;
  offer.batching = Batching{1500, 8, {2, 4}};
  const std::string plain = to_frame(ToProvider(offer)).head();
  offer.request = RequestName{"order-7", "4bf92f3577b34da6a3ce929d0e0e4736"};
  const wire::Frame frame = to_frame(ToProvider(offer));
  EXPECT_EQ(frame.head().substr(0, plain.size()), plain);
  const auto read = from_frame<ToProvider>(wire::Frame(frame));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Offer>(*read).request, offer.request);
  EXPECT_EQ(std::get<Offer>(*read).batching, offer.batching);
  for (std::size_t size = plain.size() + 1; size < frame.head().size(); ++size) {
    wire::Frame bent = frame;
    bent.mutable_head()->resize(size);
    EXPECT_THAT(refusal<ToProvider>(std::move(bent)), StartsWith("offer.request."));
  }
  offer.request->id = std::string(limits::kRequestIdBytesMax + 1, 'a');
  EXPECT_THAT(refusal<ToProvider>(to_frame(ToProvider(offer))), StartsWith("offer.request"));
}

TEST(FrameOfRequests, WithoutWordsAboutBatchesAnOfferSaysThatAnyWillDo) {
  Offer offer;
  offer.batching = Batching::any();
  offer.request = RequestName{"a", ""};
  const auto read = from_frame<ToProvider>(to_frame(ToProvider(offer)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Offer>(*read).batching, Batching::any());
  EXPECT_EQ(std::get<Offer>(*read).batching->wait_us, 0u);
}

TEST(FrameOfRequests, ACommitTellsOfRunsAtItsEndOrNothing) {
  Commit commit = commit_of(3);
  const std::string plain = to_frame(ToGateway(commit)).head();
  commit.runs = {{0, 2, 5, 1'000}, {2, 1, 1, 7}};
  const wire::Frame frame = to_frame(ToGateway(commit));
  EXPECT_EQ(frame.head().substr(0, plain.size()), plain);
  const auto read = from_frame<ToGateway>(wire::Frame(frame));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Commit>(*read).runs, commit.runs);
  for (std::size_t size = plain.size() + 1; size < frame.head().size(); ++size) {
    wire::Frame bent = frame;
    bent.mutable_head()->resize(size);
    EXPECT_THAT(refusal<ToGateway>(std::move(bent)), StartsWith("commit.runs"));
  }
  const auto with = [](std::vector<Commit::Run> runs) {
    Commit bad = commit_of(2);
    bad.runs = std::move(runs);
    return refusal<ToGateway>(to_frame(ToGateway(bad)));
  };
  EXPECT_EQ(with({}), "accepted");
  EXPECT_EQ(with({{1, 1, 1, 0}}), "accepted");
  EXPECT_THAT(with({{2, 1, 1, 0}}), HasSubstr("runs: expected"));
  EXPECT_THAT(with({{1, 1, 1, 0}, {0, 1, 1, 0}}), HasSubstr("runs: expected"));
  EXPECT_THAT(with({{1, 1, 1, 0}, {1, 1, 1, 0}}), HasSubstr("runs: expected"));
  EXPECT_THAT(with({{0, 0, 1, 0}}), HasSubstr("runs: expected"));
  EXPECT_THAT(with({{0, 1, 0, 0}}), HasSubstr("runs: expected"));
}

TEST(FrameOfRequests, ProvidersBefore012AreToldNoNames) {
  for (const char* version : {"", "0.1", "0.1.0", "0.1.1", "0.1.1.9", "x", "-1.5"})
    EXPECT_FALSE(knows_requests(version)) << version;
  for (const char* version : {"0.1.2", "0.2", "0.2.0-rc1", "1", "10.0.0"})
    EXPECT_TRUE(knows_requests(version)) << version;
}

}  // namespace
}  // namespace commensal::rpc
