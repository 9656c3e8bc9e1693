// SPDX-License-Identifier: Apache-2.0
// What an offer says of batches, and to whom.
#include <gmock/gmock.h>

#include <commensal/serve/rpc/frame.hpp>

namespace commensal::rpc {
namespace {

using ::testing::StartsWith;

std::string refusal(wire::Frame frame) {
  const auto read = from_frame<ToProvider>(std::move(frame));
  return read ? "accepted" : read.error().message;
}

// Who is older than batches writes, and refuses, no more than it ever did.
TEST(FrameOfBatches, AnOfferSaysOfBatchesAtItsEndOrNothing) {
  Offer offer;
  const float value = 1;
  offer.inputs = {{"x", tensor::Tensor::of<float>({1}, std::span(&value, 1))}};
  const std::string plain = to_frame(ToProvider(offer)).head();
  offer.batching = Batching{1500, 8, {2, 4}};
  const wire::Frame frame = to_frame(ToProvider(offer));
  EXPECT_EQ(frame.head().substr(0, plain.size()), plain);
  const auto read = from_frame<ToProvider>(wire::Frame(frame));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Offer>(*read).batching, offer.batching);
  for (std::size_t size = plain.size() + 1; size < frame.head().size(); ++size) {
    wire::Frame bent = frame;
    bent.mutable_head()->resize(size);
    EXPECT_THAT(refusal(std::move(bent)), StartsWith("offer.batching."));
  }
  for (const Batching& bad :
       {Batching{0xffffffff, 8, {}}, Batching{0, 0, {}}, Batching{0, 8, {0, 1}},
        Batching{0, 8, {4, 4}}, Batching{0, 8, std::vector<std::uint32_t>(1'000)}}) {
    offer.batching = bad;
    EXPECT_THAT(refusal(to_frame(ToProvider(offer))), StartsWith("offer.batching: "));
  }
}

TEST(FrameOfBatches, ProvidersBefore011AreToldNothingOfBatches) {
  for (const char* version : {"", "0", "0.1", "0.1.0", "x", "0.1.0.7", "-1.5"})
    EXPECT_FALSE(knows_batching(version)) << version;
  for (const char* version : {"0.1.1", "0.2", "0.2.0-rc1", "1", "10.0.0"})
    EXPECT_TRUE(knows_batching(version)) << version;
  EXPECT_FALSE(knows_prefetch("0.1.1"));
  EXPECT_TRUE(knows_prefetch("0.1.2"));
  EXPECT_TRUE(knows_prefetch(kVersion) && knows_batching(kVersion));
}

// What is said to those of before is what it always was.
TEST(FrameOfBatches, TailsThatAreAbsentAreNotWritten) {
  const auto bytes = [](const auto& message) {
    return to_frame(message).SerializeAsString().size();
  };
  EXPECT_EQ(bytes(ToProvider(Welcome{"a"})) + 4 + 5, bytes(ToProvider(Welcome{"a", "0.1.2"})));
  EXPECT_EQ(bytes(ToGateway(Load{})) + 8, bytes(ToGateway(Load{0, {}, 7})));
}

}  // namespace
}  // namespace commensal::rpc
