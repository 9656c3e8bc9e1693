// SPDX-License-Identifier: Apache-2.0
// What a provider says of its host, and to whom.
#include <gmock/gmock.h>

#include <commensal/serve/rpc/frame.hpp>
#include <limits>

namespace commensal::rpc {
namespace {

using ::testing::HasSubstr;

core::Result<ToGateway> again(const HostSeen& host) {
  return from_frame<ToGateway>(to_frame(ToGateway(HostNow{host})));
}

TEST(FrameOfHosts, HasFiguresThatAreSome) {
  const HostSeen host{"sol", 0.1, 1e300, 5e-324};
  const auto read = again(host);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<HostNow>(*read).host, host);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const double wrong : {-1.0, kInfinite, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(again({"sol", wrong, 1}).error().message, HasSubstr("expected 0 or more"));
    EXPECT_THAT(again({"sol", 1, wrong}).error().message, HasSubstr("expected 0 or more"));
    EXPECT_THAT(again({"sol", 1, 1, wrong}).error().message, HasSubstr("expected 0 or more"));
  }
  EXPECT_THAT(again({std::string(65, 'x'), 1, 1}).error().message, HasSubstr("at most 64"));
}

TEST(FrameOfHosts, IsSaidToGatewaysAndFromVersion015On) {
  EXPECT_FALSE(from_frame<ToProvider>(to_frame(ToGateway(HostNow{}))));
  for (const char* version : {"", "0.1", "0.1.4", "0.1.4.9", "x"})
    EXPECT_FALSE(knows_host(version)) << version;
  for (const char* version : {"0.1.5", "0.2", "1"}) EXPECT_TRUE(knows_host(version));
  EXPECT_TRUE(knows_host(kVersion));
}

}  // namespace
}  // namespace commensal::rpc
