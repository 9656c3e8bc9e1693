// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_observe.hpp>
#include <commensal/serve/observe/observer.hpp>
#include <future>
#include <map>
#include <nlohmann/json.hpp>

namespace commensal::observe {
namespace {

using Json = nlohmann::json;

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParent = "00f067aa0ba902b7";
constexpr std::int64_t kMs = 1'000'000;

/// What a collector gets.
struct Sink {
  std::vector<Json> bodies;

  TraceOptions options(double sample = 1) {
    return {.send =
                [this](const std::string& body) {
                  bodies.push_back(Json::parse(body));
                  return true;
                },
            .service = "gate",
            .sample = sample};
  }
  /// By name.
  std::map<std::string, Json> spans() const {
    std::map<std::string, Json> found;
    for (const Json& body : bodies)
      for (const Json& span : body["resourceSpans"][0]["scopeSpans"][0]["spans"])
        found[span["name"]] = span;
    return found;
  }
};

std::int64_t number(const Json& text) { return std::stoll(text.get<std::string>()); }

Json attributes_of(const Json& span) {
  Json made = Json::object();
  for (const Json& one : span["attributes"]) made[one["key"].get<std::string>()] = one["value"];
  return made;
}

bool is_hex(const Json& text, std::size_t size) {
  const std::string digits = text;
  return digits.size() == size && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
}

TEST(Tracer, SpansOfACallAreInsideEachOther) {
  core::ManualClock clock;
  core::CounterRng rng(1);
  Sink sink;
  clock.advance_ms(1'000);
  {
    Observer observer(clock, rng, {.trace = sink.options()});
    const RequestTag tag = observer.tag("order-7", "00-" + kTrace + "-" + kParent + "-01");
    Ended ended{.is_success = true,
                .queued_ns = 2 * kMs,
                .inferred_ns = 28 * kMs,
                .tag = tag,
                .account = "alice",
                .model = "alice/digits",
                .version = 3,
                .receipt = "ab",
                .provider = "0x1",
                .begun_ns = 1'005 * kMs,
                .offered_ns = 1'010 * kMs,
                .committed_ns = 1'030 * kMs,
                .offers = 2};
    observer.ended(ended);
    clock.advance_ms(40);
    observer.answered(HttpCall{tag, "POST", "/v2/models/{model}/infer", 200});
  }
  ASSERT_EQ(sink.bodies.size(), 1u);
  const Json& resource = sink.bodies[0]["resourceSpans"][0]["resource"];
  const Json named = attributes_of(resource);
  EXPECT_EQ(named["service.name"]["stringValue"], "gate");
  EXPECT_TRUE(is_hex(named["service.instance.id"]["stringValue"], 32));
  auto spans = sink.spans();
  ASSERT_EQ(spans.size(), 5u);
  const Json& call = spans["POST /v2/models/{model}/infer"];
  EXPECT_EQ(call["parentSpanId"], kParent);
  EXPECT_EQ(call["kind"], 2);
  EXPECT_EQ(number(call["startTimeUnixNano"]), 1'000 * kMs);
  EXPECT_EQ(number(call["endTimeUnixNano"]), 1'040 * kMs);
  EXPECT_EQ(attributes_of(call)["http.response.status_code"]["intValue"], "200");
  EXPECT_EQ(attributes_of(call)["commensal.request_id"]["stringValue"], "order-7");
  const Json& infer = spans["infer"];
  EXPECT_EQ(infer["parentSpanId"], call["spanId"]);
  EXPECT_EQ(attributes_of(infer)["commensal.receipt"]["stringValue"], "ab");
  EXPECT_EQ(attributes_of(infer)["commensal.version"]["intValue"], "3");
  EXPECT_FALSE(infer.contains("status"));
  const std::map<std::string, std::pair<std::int64_t, std::int64_t>> expected = {
      {"infer", {1'005, 1'035}},
      {"queue", {1'005, 1'010}},
      {"compute", {1'010, 1'030}},
      {"deliver", {1'030, 1'035}}};
  for (const auto& [name, times] : expected) {
    EXPECT_EQ(number(spans[name]["startTimeUnixNano"]), times.first * kMs) << name;
    EXPECT_EQ(number(spans[name]["endTimeUnixNano"]), times.second * kMs) << name;
    if (name == "infer") continue;
    EXPECT_EQ(spans[name]["parentSpanId"], infer["spanId"]) << name;
  }
  for (const auto& [name, span] : spans) {
    EXPECT_EQ(span["traceId"], kTrace) << name;
    EXPECT_TRUE(is_hex(span["spanId"], 16)) << name;
  }
  EXPECT_EQ(attributes_of(spans["compute"])["commensal.provider"]["stringValue"], "0x1");
  EXPECT_EQ(attributes_of(spans["compute"])["commensal.offers"]["intValue"], "2");
}

TEST(Tracer, WhatFailsSaysSo) {
  core::ManualClock clock;
  core::CounterRng rng(1);
  Sink sink;
  {
    Observer observer(clock, rng, {.trace = sink.options()});
    const RequestTag tag = observer.tag("", "");
    observer.ended({.queued_ns = 5 * kMs, .tag = tag, .code = "unavailable", .begun_ns = 7 * kMs});
    observer.answered(GrpcCall{tag, "ModelInfer", 14});
    observer.answered(GrpcCall{observer.tag("", ""), kNoRoute, 12});
    observer.answered(HttpCall{observer.tag("", ""), kNoRoute, kNoRoute, 404});
    observer.answered(HttpCall{{}, kNoRoute, kNoRoute, 408});  // of no request
  }
  auto spans = sink.spans();
  EXPECT_EQ(spans.size(), 5u);
  EXPECT_EQ(spans["infer"]["status"]["code"], 2);
  EXPECT_EQ(spans["infer"]["status"]["message"], "unavailable");
  EXPECT_EQ(number(spans["queue"]["endTimeUnixNano"]), 12 * kMs);
  EXPECT_FALSE(spans.contains("compute"));
  const Json& call = spans["inference.GRPCInferenceService/ModelInfer"];
  EXPECT_FALSE(call.contains("parentSpanId"));
  EXPECT_EQ(call["status"]["code"], 2);
  EXPECT_EQ(attributes_of(call)["rpc.grpc.status_code"]["intValue"], "14");
  EXPECT_EQ(attributes_of(call)["rpc.method"]["stringValue"], "ModelInfer");
  EXPECT_TRUE(spans.contains("inference.GRPCInferenceService/_OTHER"));
  EXPECT_FALSE(spans["HTTP"].contains("status"));
}

TEST(Tracer, ClientsSayWhatIsSampledOrTheShare) {
  core::ManualClock clock;
  core::SystemRng rng;
  const auto sampled = [&](double share, const std::string& traceparent) {
    Sink sink;
    Observer observer(clock, rng, {.trace = sink.options(share)});
    int count = 0;
    for (int i = 0; i < 4'000; ++i) count += observer.tag("", traceparent).is_sampled ? 1 : 0;
    return count;
  };
  const std::string of = "00-" + kTrace + "-" + kParent;
  EXPECT_EQ(sampled(0, of + "-01"), 4'000);
  EXPECT_EQ(sampled(1, of + "-00"), 0);
  EXPECT_EQ(sampled(0, ""), 0);
  EXPECT_EQ(sampled(1, ""), 4'000);
  EXPECT_NEAR(sampled(0.25, ""), 1'000, 200);
  Sink sink;
  {
    Observer observer(clock, rng, {.trace = sink.options()});
    const RequestTag tag = observer.tag("", of + "-00");
    observer.ended({.tag = tag});
    observer.answered(HttpCall{tag, "GET", "/v2", 200});
    observer.answered(GrpcCall{tag, "ServerLive", 0});
  }
  EXPECT_TRUE(sink.bodies.empty());
}

TEST(Tracer, ASlowCollectorHoldsUpNobodyAndWhatIsLostIsCounted) {
  core::ManualClock clock;
  core::CounterRng rng(1);
  std::promise<void> begun, go_on;
  std::size_t bodies = 0;
  Observer observer(clock, rng, {.trace = {.send = [&](const std::string&) {
                                   if (++bodies > 1) return true;
                                   begun.set_value();
                                   go_on.get_future().wait();
                                   return false;
                                 }}});
  const RequestTag tag = observer.tag("", "");
  observer.answered(HttpCall{tag, "GET", "/v2", 200});
  begun.get_future().wait();
  for (std::size_t i = 0; i < limits::kSpansMax + 100; ++i)
    observer.answered(HttpCall{tag, "GET", "/v2", 200});
  EXPECT_NE(observer.metrics({}).find("commensal_spans_dropped_total 100"), std::string::npos);
  go_on.set_value();
  for (int tries = 0; tries < 5'000; ++tries) {
    if (observer.metrics({}).find("commensal_spans_dropped_total 101") != std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_NE(observer.metrics({}).find("commensal_spans_dropped_total 101"), std::string::npos);
}

TEST(Tracer, FollowsTheWallClock) {
  /// Whose wall clock jumps.
  class Jumping final : public core::Clock {
   public:
    std::int64_t monotonic_ns() const override { return 5'000 * kMs; }
    std::int64_t wall_ms() const override { return wall_ms_; }
    std::int64_t wall_ms_ = 1'000'000;
  } clock;
  core::CounterRng rng(1);
  Sink sink;
  {
    Observer observer(clock, rng, {.trace = sink.options()});
    clock.wall_ms_ += 5;  // within its rounding
    observer.answered(HttpCall{observer.tag("", ""), "GET", "/near", 200});
    clock.wall_ms_ = 2'000'000;
    observer.answered(HttpCall{observer.tag("", ""), "GET", "/far", 200});
  }
  auto spans = sink.spans();
  EXPECT_EQ(number(spans["GET /near"]["startTimeUnixNano"]), 1'000'000 * kMs);
  EXPECT_EQ(number(spans["GET /far"]["startTimeUnixNano"]), 2'000'000 * kMs);
}

}  // namespace
}  // namespace commensal::observe
