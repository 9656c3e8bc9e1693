// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <hosts/common/testing/child.hpp>
#include <hosts/streamer/triad.hpp>
#include <nlohmann/json.hpp>

namespace hosts::streamer {
namespace {

using common::testing::Child;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Triad, ComputesAndCounts) {
  Triad triad(2, 3 * Triad::kChunkBytes);
  while (triad.bytes() < 30 * Triad::kChunkBytes) std::this_thread::yield();
  triad.stop();
  EXPECT_TRUE(triad.is_right());
  EXPECT_EQ(triad.bytes() % (3 * Triad::kChunkBytes), 0U);
}

TEST(StreamerProgram, CountsInAFileAndOverHttp) {
  const std::string counter = testing::TempDir() + "streamer_counter";
  Child child(HOSTS_PROGRAM, {"--array-mb", "4", "--http", "127.0.0.1:0", "--counter", counter});
  const unsigned port = json::parse(child.read_line()).at("http_port");
  std::uint64_t counted = 0;
  while (counted == 0) std::ifstream(counter) >> counted;
  const std::string body = common::testing::body_of(common::testing::get(port, "/metrics"));
  EXPECT_THAT(body, HasSubstr("# TYPE streamer_bytes_total counter\nstreamer_bytes_total "));
  EXPECT_THAT(common::testing::get(port, "/"), StartsWith("HTTP/1.1 404"));
  child.signal(SIGINT);
  const json last = json::parse(child.read_rest());
  EXPECT_EQ(child.wait(), 0);
  EXPECT_GE(last["bytes"], counted);
  EXPECT_GT(last["gb_per_s"], 0);
  (void)std::remove(counter.c_str());
}

TEST(StreamerProgram, RefusesBadOptionsInOneLine) {
  const std::vector<std::vector<std::string>> cases = {
      {"--threads", "0"}, {"--array-mb", "-1"}, {"--counter", "/nowhere/at/all"}, {"--http", "x"}};
  for (const auto& arguments : cases) {
    Child child(HOSTS_PROGRAM, arguments);
    const std::string errors = child.read_errors();
    EXPECT_EQ(child.wait(), 1) << arguments[0];
    EXPECT_THAT(errors, StartsWith("streamer: ")) << arguments[0];
    EXPECT_EQ(std::ranges::count(errors, '\n'), 1) << errors;
  }
}

}  // namespace
}  // namespace hosts::streamer
