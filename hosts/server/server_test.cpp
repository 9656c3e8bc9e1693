// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <hosts/common/testing/child.hpp>
#include <hosts/server/arrivals.hpp>
#include <hosts/server/latencies.hpp>
#include <nlohmann/json.hpp>
#include <thread>

namespace hosts::server {
namespace {

using common::testing::Child;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Arrivals, AreOfTheirSeedAndAsManyAsPromised) {
  const Traffic traffic;
  Arrivals first(traffic, 7), again(traffic, 7), other(traffic, 8);
  constexpr int kCount = 200'000;
  std::int64_t last = 0;
  int differ = 0;
  double work = 0;
  for (int i = 0; i < kCount; ++i) {
    const Arrival a = first.next();
    const Arrival b = again.next();
    ASSERT_EQ(a.at_ns, b.at_ns);
    ASSERT_GE(a.at_ns, last);
    ASSERT_GE(a.work_ms, traffic.work_ms_min);
    ASSERT_LE(a.work_ms, traffic.work_ms_max);
    differ += a.at_ns != other.next().at_ns;
    work += a.work_ms;
    last = a.at_ns;
  }
  EXPECT_GT(differ, kCount - 10);
  EXPECT_NEAR(kCount / (static_cast<double>(last) * 1e-9), traffic.mean_per_s(),
              0.1 * traffic.mean_per_s());
  EXPECT_NEAR(work / kCount, 3, 0.03);
}

TEST(Arrivals, ComeInBursts) {
  // Counts by the second of a Poisson process vary by their mean; bursts vary more.
  Arrivals arrivals(Traffic{}, 3);
  std::vector<double> counts(2000);
  for (Arrival a = arrivals.next(); a.at_ns < 2000'000'000'000; a = arrivals.next())
    ++counts[static_cast<std::size_t>(a.at_ns / 1'000'000'000)];
  double mean = 0, square = 0;
  for (const double count : counts) mean += count / 2000;
  for (const double count : counts) square += (count - mean) * (count - mean) / 2000;
  EXPECT_GT(square / mean, 5);
}

TEST(Latencies, HaveNearestRankQuantiles) {
  std::vector<double> values;
  for (int i = 1000; i >= 1; --i) values.push_back(i);
  const Quantiles made = quantiles_of(values);
  EXPECT_EQ(made.count, 1000U);
  EXPECT_EQ(made.p50_ms, 500);
  EXPECT_EQ(made.p99_ms, 990);
  EXPECT_EQ(made.p999_ms, 999);
  EXPECT_EQ(quantiles_of({7}).p99_ms, 7);
  EXPECT_EQ(quantiles_of({}).count, 0U);
}

TEST(Latencies, ForgetWhatLeftTheWindow) {
  Latencies latencies(10);
  latencies.add(0, {100, 1});
  for (int i = 1; i <= 20; ++i) latencies.add(i, {1, 1});
  EXPECT_EQ(latencies.window(20).count, 10U);
  EXPECT_EQ(latencies.window(20).p999_ms, 1);
  EXPECT_EQ(latencies.all().p999_ms, 100);
  EXPECT_EQ(latencies.count(), 21U);
  EXPECT_EQ(latencies.sum_ms(), 120);
}

TEST(Latencies, AreTakenOnce) {
  Latencies latencies(10);
  EXPECT_THAT(latencies.take(), testing::IsEmpty());
  for (int i = 1; i <= 3; ++i) latencies.add(i, {1.0 * i, 1});
  EXPECT_THAT(latencies.take(), testing::ElementsAre(Latency{1, 1}, Latency{2, 1}, Latency{3, 1}));
  EXPECT_THAT(latencies.take(), testing::IsEmpty());
  for (std::size_t i = 0; i <= Latencies::kTakenMax; ++i) latencies.add(4, {i == 0 ? 4.0 : 5.0, 1});
  EXPECT_THAT(latencies.take(), testing::Each(Latency{5, 1}));
  EXPECT_EQ(latencies.all().count, Latencies::kTakenMax + 4);
}

TEST(ServerProgram, ServesItsLatencies) {
  Child child(HOSTS_PROGRAM, {"--http", "127.0.0.1:0", "--steps-per-ms", "100"});
  const unsigned port = json::parse(child.read_line()).at("http_port");
  std::string body;
  do {  // until the first request is answered
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    body = common::testing::body_of(common::testing::get(port, "/metrics"));
  } while (body.find("server_requests_total 0\n") != std::string::npos);
  EXPECT_THAT(body, HasSubstr("# TYPE server_latency_ms gauge\n"));
  EXPECT_THAT(body, HasSubstr("server_latency_ms{quantile=\"0.99\"} "));
  EXPECT_THAT(body, HasSubstr("server_requests_total "));
  EXPECT_THAT(body, HasSubstr("\nserver_busy_seconds_total "));
  EXPECT_THAT(body, testing::Not(HasSubstr("\nserver_steps_total 0\n")));
  const json one = json::parse(common::testing::body_of(common::testing::get(port, "/latencies")));
  ASSERT_FALSE(one.empty());
  // 100 steps are done in less than a millisecond: what is late here is late by the work it names.
  EXPECT_GT(one[0][0].get<double>(), 0);
  EXPECT_GE(one[0][1].get<double>(), 1);
  child.signal(SIGTERM);
  const json last = json::parse(child.read_rest());
  EXPECT_EQ(child.wait(), 0);
  EXPECT_GT(last["requests"], 0);
  EXPECT_GE(last["p999_ms"], last["p99_ms"]);
  EXPECT_GE(last["p99_ms"], last["p50_ms"]);
  EXPECT_GT(last["p50_ms"], 0);
}

TEST(ServerProgram, RefusesBadOptionsInOneLine) {
  const std::vector<std::vector<std::string>> cases = {
      {"--calm-rate", "0"},   {"--burst-rate", "nothing"},
      {"--work-ms-min", "9"}, {"--calm-rate", "100000"},
      {"--http", "x"},        {"surplus"}};
  for (const auto& arguments : cases) {
    Child child(HOSTS_PROGRAM, arguments);
    const std::string errors = child.read_errors();
    EXPECT_EQ(child.wait(), 1) << arguments[0];
    EXPECT_THAT(errors, StartsWith("server: ")) << arguments[0];
    EXPECT_EQ(std::ranges::count(errors, '\n'), 1) << errors;
  }
}

}  // namespace
}  // namespace hosts::server
