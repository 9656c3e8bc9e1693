// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits_observe.hpp>
#include <commensal/serve/observe/metrics.hpp>
#include <commensal/serve/observe/testing/exposition.hpp>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

namespace commensal::observe {
namespace {

using testing::Exposition;

Ended answered(const std::string& model, std::uint32_t version = 1) {
  return {.is_success = true,
          .rows = 2,
          .queued_ns = 1'000'000,
          .inferred_ns = 6'000'000,
          .model = model,
          .version = version,
          .bytes_in = 256,
          .bytes_out = 40};
}
Ended refused(const std::string& model, std::string_view code) {
  return {.queued_ns = 10'000, .model = model, .version = model.empty() ? 0u : 1u, .code = code};
}

Exposition read(Metrics& metrics, const Readings& now = {}) {
  const auto made = Exposition::parse(metrics.text(now));
  EXPECT_TRUE(made.has_value()) << made.error().message;
  if (!made) return {};
  const auto checked = made->check_histograms();
  EXPECT_TRUE(checked.has_value()) << checked.error().message;
  return *made;
}

TEST(Metrics, CountsByModelVersionAndCode) {
  Metrics metrics(false);
  for (int i = 0; i < 3; ++i) metrics.count(answered("alice/digits"));
  metrics.count(answered("alice/digits", 2));
  metrics.count(refused("alice/digits", "unavailable"));
  const Exposition seen = read(metrics);
  const std::string of = R"(model="alice/digits",version="1")";
  EXPECT_EQ(seen.types.at("commensal_requests_total"), "counter");
  EXPECT_EQ(seen.at(R"(commensal_requests_total{code="ok",)" + of + "}"), 3);
  EXPECT_EQ(seen.at(R"(commensal_requests_total{code="unavailable",)" + of + "}"), 1);
  EXPECT_EQ(seen.sum("commensal_requests_total"), 5);
  EXPECT_EQ(seen.at("commensal_rows_total{" + of + "}"), 6);
  EXPECT_EQ(seen.at("commensal_request_duration_seconds_count{" + of + "}"), 4);
  EXPECT_NEAR(seen.at("commensal_request_duration_seconds_sum{" + of + "}"), 0.02101, 1e-5);
  const auto bucket = [&](const std::string& name, const std::string& le) {
    return seen.at(name + "_bucket{le=\"" + le + "\"," + of + "}");
  };
  EXPECT_EQ(seen.at("commensal_request_bytes_sum{" + of + "}"), 768);
  EXPECT_EQ(bucket("commensal_request_duration_seconds", "+Inf"), 4);
  EXPECT_EQ(seen.at("commensal_response_bytes_count{" + of + "}"), 3);
}

TEST(Metrics, ABoundedNumberOfModelsHasFiguresOfItsOwn) {
  Metrics metrics(true);
  for (std::size_t i = 0; i < 3 * limits::kMeteredModelsMax; ++i)
    metrics.count(answered("alice/m" + std::to_string(i)));
  for (int i = 0; i < 5; ++i) metrics.count(refused("", "not-found"));
  metrics.count(answered("alice/m0"));
  const Exposition seen = read(metrics);
  std::size_t models = 0;
  for (const auto& [sample, value] : seen.samples)
    models += sample.starts_with("commensal_rows_total{") ? 1 : 0;
  EXPECT_EQ(models, limits::kMeteredModelsMax + 2);
  EXPECT_EQ(seen.at(R"(commensal_requests_total{code="ok",model="alice/m0",version="1"})"), 2);
  EXPECT_EQ(seen.at(R"(commensal_requests_total{code="ok",model="other",version=""})"),
            2 * limits::kMeteredModelsMax);
  EXPECT_EQ(seen.at(R"(commensal_requests_total{code="not-found",model="unknown",version=""})"), 5);
}

TEST(Metrics, HasTritonsNamesWhereTheyAreAskedFor) {
  Metrics own(false), tritons(true);
  for (Metrics* const one : {&own, &tritons}) {
    one->count(answered("alice/digits"));
    one->count(refused("alice/digits", "unavailable"));
  }
  EXPECT_EQ(own.text({}).find("nv_inference"), std::string::npos);
  const Exposition seen = read(tritons);
  const auto of = [&](const std::string& name) {
    return seen.at("nv_inference_" + name + R"({model="alice/digits",version="1"})");
  };
  EXPECT_EQ(of("request_success"), 1);
  EXPECT_EQ(of("request_failure"), 1);
  EXPECT_EQ(of("count"), 2);
  EXPECT_EQ(of("exec_count"), 1);
  Ended with_another = answered("alice/digits");
  with_another.runs = Runs{};
  tritons.count(with_another);
  EXPECT_EQ(read(tritons).at(R"(nv_inference_exec_count{model="alice/digits",version="1"})"), 1);
  EXPECT_EQ(of("request_duration_us"), 7'000);
  EXPECT_EQ(of("queue_duration_us"), 1'000);
  EXPECT_EQ(of("compute_infer_duration_us"), 6'000);
}

TEST(Metrics, ShowsReadingsAndRoutes) {
  Metrics metrics(false);
  for (int i = 0; i < 2; ++i) metrics.count("GET", "/v2/models/{model}", 200);
  metrics.count("GET", "/v2/models/{model}", 404);
  (void)metrics.text({.log_lines_dropped = 3});
  const Exposition seen = read(metrics, {.uptime_s = 1.5,
                                         .providers_connected = 2,
                                         .jobs_waiting = 3,
                                         .memory_held_bytes = 4'096,
                                         .log_lines_dropped = 7});
  const auto route = [&](const char* status) {
    return seen.at(fmt::format(
        R"(commensal_http_requests_total{{method="GET",route="/v2/models/{{model}}",status="{}"}})",
        status));
  };
  EXPECT_EQ(route("200"), 2);
  EXPECT_EQ(route("404"), 1);
  EXPECT_EQ(seen.at("commensal_uptime_seconds{}"), 1.5);
  EXPECT_EQ(seen.at("commensal_providers_connected{}"), 2);
  EXPECT_EQ(seen.at("commensal_jobs_waiting{}"), 3);
  EXPECT_EQ(seen.at("commensal_memory_held_bytes{}"), 4'096);
  EXPECT_EQ(seen.at("commensal_log_lines_dropped_total{}"), 7);
  EXPECT_EQ(seen.types.at("commensal_log_lines_dropped_total"), "counter");
  EXPECT_EQ(seen.sum("commensal_build_info"), 1);
}

TEST(Metrics, CountsCallsOverGrpcByMethodAndStatus) {
  Metrics metrics(false);
  for (const int code : {0, 0, 5, 16, 17, -1}) metrics.count_grpc("ModelInfer", code, 2'000'000);
  metrics.count_grpc("none", 12, 1'000);
  const Exposition seen = read(metrics);
  const auto calls = [&](const char* method, const char* status) {
    return seen.at(
        fmt::format(R"(commensal_grpc_calls_total{{method="{}",status="{}"}})", method, status));
  };
  EXPECT_EQ(calls("ModelInfer", "OK"), 2);
  EXPECT_EQ(calls("ModelInfer", "NOT_FOUND"), 1);
  EXPECT_EQ(calls("ModelInfer", "UNAUTHENTICATED"), 1);
  EXPECT_EQ(calls("ModelInfer", "UNKNOWN"), 2);  // no code has these numbers
  EXPECT_EQ(calls("none", "UNIMPLEMENTED"), 1);
  const std::string of = "commensal_grpc_call_duration_seconds_";
  EXPECT_EQ(seen.at(of + R"(count{method="ModelInfer"})"), 6);
  EXPECT_NEAR(seen.at(of + R"(sum{method="ModelInfer"})"), 0.012, 1e-9);
  EXPECT_EQ(seen.at(of + R"(bucket{le="0.001",method="ModelInfer"})"), 0);
  EXPECT_EQ(seen.at(of + R"(bucket{le="0.0025",method="ModelInfer"})"), 6);
}

/// What a dashboard or a rule asks for is there.
TEST(Metrics, HasWhatTheDashboardShows) {
  Metrics metrics(false);
  metrics.count(answered("alice/digits"));
  metrics.count("GET", "/v2", 200);
  metrics.count_grpc("ServerLive", 0, 1'000);
  const Exposition seen = read(metrics);
  static const std::regex kName("\\bcommensal_[a-z_]+\\b");
  for (const char* name : {"commensal.json", "alerts.yml"}) {
    const auto file = core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "docs/grafana" / name);
    ASSERT_TRUE(file.has_value()) << name;
    const std::string text(core::as_text(*file));
    EXPECT_EQ(nlohmann::json::accept(text), std::string_view(name).ends_with(".json"));
    std::set<std::string> metrics_shown;
    for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at) {
      std::string metric = at->str();
      for (const std::string_view part : {"_bucket", "_sum", "_count"}) {
        const std::string whole = metric.substr(0, metric.size() - part.size());
        if (metric.ends_with(part) && seen.types.contains(whole)) metric = whole;
      }
      EXPECT_TRUE(seen.types.contains(metric)) << name << ": " << metric;
      metrics_shown.insert(metric);
    }
    EXPECT_GT(metrics_shown.size(), 5u) << name;
  }
}

TEST(Exposition, RefusesWhatIsNone) {
  const std::string typed = "# TYPE a counter\n";
  EXPECT_TRUE(Exposition::parse(typed + "a{b=\"c\"} 1\n"));
  for (const char* line : {"a{b=\"c\"} 1", "a{b=c} 1\n", "a{b=\"c\"}\n", "a{b=\"c\",b=\"d\"} 1\n",
                           "a 1\na 2\n", "b 1\n", "a{b=\"c\"d\"} 1\n", "a x\n"})
    EXPECT_FALSE(Exposition::parse(typed + line)) << line;
  const std::string buckets =
      "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} %\nh_sum 1\nh_count 3\n";
  const auto with = [&](const std::string& last) {
    std::string text = buckets;
    return Exposition::parse(text.replace(text.find('%'), 1, last))->check_histograms();
  };
  EXPECT_TRUE(with("3"));
  EXPECT_FALSE(with("1"));
  EXPECT_FALSE(with("4"));
}

}  // namespace
}  // namespace commensal::observe
