// SPDX-License-Identifier: Apache-2.0
// What a gateway wants let go of, and what is answered.
#include <gmock/gmock.h>

#include <commensal/serve/rpc/frame.hpp>

namespace commensal::rpc {
namespace {

using ::testing::HasSubstr;

template <class To, class Message>
core::Result<To> sent(const Message& message) {
  return from_frame<To>(to_frame(To(message)));
}

TEST(FrameOfReleases, HasAsManyModelsAsAHello) {
  Release ask{std::vector<core::Digest>(limits::kHelloModelsMax, core::Digest{7})};
  const auto asked = sent<ToProvider>(ask);
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(std::get<Release>(*asked).models, ask.models);
  ask.models.emplace_back();
  EXPECT_THAT(sent<ToProvider>(ask).error().message, HasSubstr("513 models, at most 512"));

  Released answer;
  for (std::size_t i = 0; i < limits::kHelloModelsMax; ++i) answer.items.push_back({{}, i});
  const auto answered = sent<ToGateway>(answer);
  ASSERT_TRUE(answered) << answered.error().message;
  EXPECT_EQ(std::get<Released>(*answered).items, answer.items);
  answer.items.emplace_back();
  EXPECT_THAT(sent<ToGateway>(answer).error().message, HasSubstr("513 models, at most 512"));
}

TEST(FrameOfReleases, AreOneWayEach) {
  EXPECT_FALSE(from_frame<ToGateway>(to_frame(ToProvider(Release{}))));
  EXPECT_FALSE(from_frame<ToProvider>(to_frame(ToGateway(Released{}))));
}

TEST(FrameOfReleases, AreSaidFromVersion014On) {
  for (const char* version : {"", "0.1", "0.1.3", "0.1.3.9", "x"})
    EXPECT_FALSE(knows_release(version)) << version;
  for (const char* version : {"0.1.4", "0.2", "1"}) EXPECT_TRUE(knows_release(version));
  EXPECT_TRUE(knows_release(kVersion));
}

}  // namespace
}  // namespace commensal::rpc
