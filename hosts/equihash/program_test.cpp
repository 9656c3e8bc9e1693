// SPDX-License-Identifier: Apache-2.0
// The program as its users run it, and the JSON that it gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <hosts/common/testing/child.hpp>
#include <hosts/equihash/summary.hpp>
#include <nlohmann/json.hpp>
#include <thread>

namespace hosts::equihash {
namespace {

using common::testing::Child;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(XmrigSummary, HasItsFields) {
  Status status{{*make_params(200, 9), 2, 1}, {1000, 2, 3, 0}, 12.5, {100.5, {}, {}}, {}, 101};
  status.threads = {{50.25, {}, {}}, {50.25, {}, {}}};
  const json read = json::parse(to_xmrig_summary(status));
  EXPECT_EQ(read["hashrate"]["total"], json::parse("[100.5, null, null]"));
  EXPECT_EQ(read["hashrate"]["threads"][1], json::parse("[50.25, null, null]"));
  EXPECT_EQ(read["hashrate"]["highest"], 101);
  EXPECT_EQ(read["connection"]["uptime"], 12);
  EXPECT_EQ(read["connection"]["uptime_ms"], 12500);
  EXPECT_EQ(read["results"]["shares_good"], 3);
  EXPECT_EQ(read["algo"], "equihash/200_9");
  EXPECT_EQ(read["paused"], false);
}

TEST(EquihashProgram, ServesItsRateUntilItIsStopped) {
  const std::string counter = testing::TempDir() + "equihash.count." + std::to_string(::getpid());
  Child child(HOSTS_PROGRAM, {"--n", "48", "--k", "5", "--threads", "2", "--http", "127.0.0.1:0",
                              "--counter", counter});
  const unsigned port = json::parse(child.read_line()).at("http_port");
  const std::string answer = common::testing::get(port, "/2/summary");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  const json summary = json::parse(common::testing::body_of(answer));
  EXPECT_EQ(summary["hashrate"]["total"].size(), 3U);
  EXPECT_EQ(summary["hashrate"]["threads"].size(), 2U);
  EXPECT_EQ(summary["kind"], "miner");
  EXPECT_THAT(common::testing::get(port, "/elsewhere"), StartsWith("HTTP/1.1 404"));
  // It serves before its threads have done anything; a machine may be slow, not that slow.
  const auto passes = [&] {
    const std::string summary = common::testing::get(port, "/2/summary");
    return json::parse(common::testing::body_of(summary))["results"]["hashes_total"].get<long>();
  };
  for (int asked = 0; passes() == 0 && asked < 100'000; ++asked) {
  }
  const auto counted = [&] {
    std::uint64_t count = 0;
    std::ifstream(counter) >> count;
    return count;
  };
  while (counted() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_THAT(common::testing::get(port, "/metrics"), HasSubstr("\nequihash_bucket_passes_total "));
  child.signal(SIGTERM);
  const json last = json::parse(child.read_rest());
  EXPECT_EQ(child.wait(), 0);
  EXPECT_LE(counted(), last["bucket_passes"].get<std::uint64_t>());
  (void)std::remove(counter.c_str());
  EXPECT_EQ(last["sols_invalid"], 0);
  EXPECT_GT(last["bucket_passes"], 0);
}

TEST(EquihashProgram, EndsByItself) {
  Child child(HOSTS_PROGRAM, {"--n", "48", "--k", "5", "--seconds", "0.3"});
  const json last = json::parse(child.read_rest());
  EXPECT_EQ(child.wait(), 0);
  EXPECT_GE(last["seconds"], 0.3);
  EXPECT_LT(last["seconds"], 30);
  EXPECT_GT(last["sols"], 0);
}

TEST(EquihashProgram, RefusesBadOptionsInOneLine) {
  const std::vector<std::vector<std::string>> cases = {
      {"--n", "201"}, {"--k", "8"},       {"--threads", "0"},    {"--threads", "x"},
      {"--what"},     {"--http", "here"}, {"--seconds", "-0.5"},
  };
  for (const auto& arguments : cases) {
    Child child(HOSTS_PROGRAM, arguments);
    const std::string errors = child.read_errors();
    EXPECT_EQ(child.wait(), 1) << arguments[0];
    EXPECT_THAT(errors, StartsWith("equihash: ")) << arguments[0];
    EXPECT_EQ(std::ranges::count(errors, '\n'), 1) << errors;
  }
}

}  // namespace
}  // namespace hosts::equihash
