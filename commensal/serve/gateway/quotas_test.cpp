// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/gateway/quotas.hpp>

namespace commensal::gateway {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Quotas, RequestsComeAtARateAndInBursts) {
  Quotas quotas({.requests_per_s = 5, .models = {}});
  const Account alice{"alice", Role::kConsumer};
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) admitted += quotas.admit(alice, 0) ? 1 : 0;
  EXPECT_EQ(admitted, 10);
  for (int second = 1; second <= 100; ++second) {
    for (int i = 0; i < 50; ++i) admitted += quotas.admit(alice, second * kSecond + i) ? 1 : 0;
  }
  EXPECT_NEAR(admitted, 510, 1);
  EXPECT_TRUE(quotas.admit({"bob", Role::kConsumer}, 100 * kSecond));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(quotas.admit({"root", Role::kOperator}, 0));
}

TEST(Quotas, ACommandsRequestsMayComeAtOnceHoweverLowTheRate) {
  Quotas quotas({.requests_per_s = 0.5, .models = {}});
  const Account alice{"alice", Role::kConsumer};
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(quotas.admit(alice, 0)) << i;
  EXPECT_NE(quotas.admit(alice, 0).error().message.find("again in 2 s"), std::string::npos);
  EXPECT_FALSE(quotas.admit(alice, kSecond));
  EXPECT_TRUE(quotas.admit(alice, (1 + quotas.wait_s()) * kSecond));
}

}  // namespace
}  // namespace commensal::gateway
