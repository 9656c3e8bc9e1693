// SPDX-License-Identifier: Apache-2.0
// What is made of what the sides say: the peer is a function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/lab/bench/operators/small_nodes.hpp>
#include <commensal/lab/bench/runtime/testing/fake_runner.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench::operators {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::function<core::Result<Runner>()> taking(std::function<double(const std::string&)> seconds) {
  return [=]() -> core::Result<Runner> {
    const auto clock = std::make_shared<std::string>();
    return testing::fake([=](const std::string& line) -> std::string {
      const Json request = Json::parse(line);
      if (request.at("do") == "feed") return "{}";
      if (request.at("do") == "outputs") return R"({"outputs": []})";
      if (request.at("do") == "load") {
        *clock = request.at("clock");
        return R"({"session_seconds": 1, "answer_seconds": 1})";
      }
      const std::vector<double> all(request.at("count").get<std::size_t>(), seconds(*clock));
      Json answer = {{"seconds", all}, {"cpu_seconds", all}};
      if (*clock == "net") answer["language_seconds"] = 5e-5;
      return answer.dump();
    });
  };
}

Report measured(double ours_s, double theirs_net_s, double theirs_own_s) {
  Options options;
  options.ops = {"Not"};
  options.threads = {1};
  options.turns = {.repeats = 3, .block_s = 0.001, .rounds_max = 1};
  options.ours = taking([=](const std::string&) { return ours_s; });
  options.theirs = taking(
      [=](const std::string& clock) { return clock == "net" ? theirs_net_s : theirs_own_s; });
  const core::SystemClock clock;
  auto report = run_operators_bench(options, clock);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *std::move(report) : Report();
}

Json bar_of(const Report& report, const std::string& name) {
  const Json json = Json::parse(to_json(report));
  for (const Json& bar : json.at("bars")) {
    if (bar.at("name") == name) return bar;
  }
  ADD_FAILURE() << "no bar " << name << " in " << to_json(report);
  return {};
}

TEST(OperatorsBench, TheProfilersShareIsMeasuredAndTakenOffBesideTheBars) {
  const Report report = measured(30e-6, 20e-6, 40e-6);
  EXPECT_DOUBLE_EQ(bar_of(report, "operators_p95").at("value"), 0.75);
  EXPECT_EQ(bar_of(report, "operators_p95").at("limit"), 1.5);
  for (const char* name : {"operators_geomean_less_profiler", "operators_p95_less_profiler",
                           "operators_worst_less_profiler"}) {
    const Json bar = bar_of(report, name);
    EXPECT_NEAR(bar.at("value"), 1.5, 1e-9) << name;
    EXPECT_TRUE(bar.at("limit").is_null()) << name;
    EXPECT_TRUE(bar.at("ok").is_null()) << name;
  }
  EXPECT_THAT(report.notes.at(0), HasSubstr("20.0 us of a run of one node"));
  EXPECT_THAT(to_text(report), HasSubstr("operators_p95_less_profiler"));
}

TEST(OperatorsBench, OfARowThatIsButTheProfilerNoRatioIsLeft) {
  const Report report = measured(3e-6, 1e-6, 21e-6);
  EXPECT_DOUBLE_EQ(bar_of(report, "operators_worst").at("value"), 3.0 / 21);
  for (const Row& row : report.rows) EXPECT_THAT(row.name, ::testing::Not(HasSubstr("less")));
  EXPECT_THAT(report.notes.at(0), HasSubstr("1 rows take the peer less than 50 us"));
}

TEST(OperatorsBench, TheDearestSmallNodeIsTheBar) {
  const auto row = node_row({{"Unique", "i64[8]", 1300}, {"Conv", "f32[8]", 160}, {"Abs", "", 20}});
  ASSERT_EQ(row.size(), 1u);
  EXPECT_EQ(row[0].value, 1300);
  EXPECT_FALSE(row[0].ok());
  EXPECT_THAT(row[0].how, HasSubstr("the dearest of 3 nodes of a few elements: Unique i64[8]; 2"));
  EXPECT_TRUE(node_row({}).empty());
  // Whichever operator is asked for has its node.
  EXPECT_EQ(bar_of(measured(30e-6, 20e-6, 40e-6), "node_ns").at("value"), 0);
}

}  // namespace
}  // namespace commensal::lab::bench::operators
