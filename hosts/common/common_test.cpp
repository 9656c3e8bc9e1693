// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hosts/common/http_server.hpp>
#include <hosts/common/rate.hpp>
#include <hosts/common/testing/child.hpp>

namespace hosts::common {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(RateWindows, HaveNoMeanBeforeTheWindowHasPassed) {
  RateWindows windows;
  EXPECT_FALSE(windows.mean(10 * kSecond));
  windows.add(0, 0);
  windows.add(9 * kSecond, 90);
  EXPECT_FALSE(windows.mean(10 * kSecond));
  windows.add(10 * kSecond, 110);
  ASSERT_TRUE(windows.mean(10 * kSecond));
  EXPECT_DOUBLE_EQ(*windows.mean(10 * kSecond), 11);
}

TEST(RateWindows, ForgetWhatIsOlderThanTheLongestWindow) {
  RateWindows windows;
  std::uint64_t count = 0;
  for (std::int64_t s = 0; s <= 2000; ++s) windows.add(s * kSecond, count += s < 1000 ? 1 : 5);
  EXPECT_DOUBLE_EQ(*windows.mean(RateWindows::kLongestNs), 5);
  EXPECT_DOUBLE_EQ(*windows.mean(60 * kSecond), 5);
  EXPECT_FALSE(windows.mean(RateWindows::kLongestNs + kSecond));
}

TEST(HttpServer, AnswersAndRefuses) {
  auto server = HttpServer::open("127.0.0.1:0", [](std::string_view target) {
    return HttpAnswer{200, "text/plain", "you asked for " + std::string(target)};
  });
  ASSERT_TRUE(server) << server.error();
  const unsigned port = (*server)->port();
  EXPECT_THAT(testing::get(port, "/a?b"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(testing::body_of(testing::get(port, "/a?b")), "you asked for /a?b");
  EXPECT_THAT(testing::ask(port, "POST / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(testing::ask(port, "\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(testing::ask(port, std::string(3 * HttpServer::kHeadBytesMax, 'x')),
              ::testing::AnyOf("", StartsWith("HTTP/1.1 400")));
  EXPECT_EQ(testing::body_of(testing::get(port, "/still-there")), "you asked for /still-there");
  const std::string taken = "127.0.0.1:" + std::to_string(port);
  const auto second = HttpServer::open(taken, nullptr);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("cannot listen at " + taken));
}

TEST(HttpServer, RefusesAddressesThatAreNone) {
  for (const char* text : {"", ":", "localhost:1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:1x", "127.0.0.1:-1"}) {
    const auto opened = HttpServer::open(text, nullptr);
    ASSERT_FALSE(opened) << text;
    EXPECT_THAT(opened.error(), HasSubstr("expected an address")) << text;
  }
}

}  // namespace
}  // namespace hosts::common
