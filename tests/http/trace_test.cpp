// SPDX-License-Identifier: Apache-2.0
// Spans of requests, over real sockets.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <inference/grpc_service.grpc.pb.h>

#include <commensal/serve/observe/testing/exposition.hpp>
#include <commensal/serve/oip_grpc/server.hpp>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>
#include <thread>

namespace commensal::tests {
namespace {

using Json = nlohmann::json;

const std::string kParent = "00f067aa0ba902b7";

std::string traceparent(char digit) {
  return "00-" + std::string(32, digit) + "-" + kParent + "-01";
}
std::int64_t time_of(const Json& span, const char* which) {
  return std::stoll(span[which].get<std::string>());
}

class Traces : public ::testing::Test {
 protected:
  /// Of this trace, by name, once there are so many.
  std::map<std::string, Json> spans(char digit, std::size_t count) {
    std::map<std::string, Json> found;
    for (int tries = 0; tries < 1'000 && found.size() < count; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::lock_guard lock(mutex_);
      for (const Json& span : all_)
        if (span["traceId"] == std::string(32, digit)) found[span["name"]] = span;
    }
    EXPECT_EQ(found.size(), count);
    return found;
  }
  static void expect_inside(const Json& child, const Json& parent) {
    EXPECT_EQ(child["parentSpanId"], parent["spanId"]) << child << parent;
    EXPECT_GE(time_of(child, "startTimeUnixNano"), time_of(parent, "startTimeUnixNano")) << child;
    EXPECT_LE(time_of(child, "endTimeUnixNano"), time_of(parent, "endTimeUnixNano")) << child;
    EXPECT_LE(time_of(child, "startTimeUnixNano"), time_of(child, "endTimeUnixNano")) << child;
  }
  /// Of an inference that was answered, below its call.
  static void expect_whole(std::map<std::string, Json>& spans, const std::string& call) {
    ASSERT_TRUE(spans.contains(call));
    EXPECT_EQ(spans[call]["parentSpanId"], kParent);
    expect_inside(spans["infer"], spans[call]);
    for (const char* name : {"queue", "compute", "deliver"})
      expect_inside(spans[name], spans["infer"]);
    EXPECT_EQ(spans["queue"]["endTimeUnixNano"], spans["compute"]["startTimeUnixNano"]);
    EXPECT_EQ(spans["compute"]["endTimeUnixNano"], spans["deliver"]["startTimeUnixNano"]);
    EXPECT_EQ(spans["deliver"]["endTimeUnixNano"], spans["infer"]["endTimeUnixNano"]);
  }
  std::string metrics() {
    RawClient raw(world_.metrics_port());
    raw.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    return raw.receive().body;
  }

 private:
  bool take(const std::string& body) {
    const Json sent = Json::parse(body);
    const std::lock_guard lock(mutex_);
    for (const Json& span : sent["resourceSpans"][0]["scopeSpans"][0]["spans"])
      all_.push_back(span);
    return true;
  }

  std::mutex mutex_;  // guards the next
  std::vector<Json> all_;

 protected:
  World world_{
      "traces", nullptr,
      {},       false,
      "",       {.trace = {.send = [this](const std::string& body) { return take(body); }}}};
};

TEST_F(Traces, HaveTheWayOfARequestOverHttp) {
  world_.start_provider();
  const auto ask = [&](const std::string& model, const std::string& headers) {
    const auto values = picture(1)[0].value.data<float>();
    const std::string body =
        Json({{"inputs",
               {{{"name", "image"},
                 {"datatype", "FP32"},
                 {"shape", {1, 1, 8, 8}},
                 {"data", std::vector<float>(values.begin(), values.end())}}}}})
            .dump();
    RawClient raw(world_.port());
    raw.send(
        fmt::format("POST /v2/models/{}/infer HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                    "{}\r\nContent-Length: {}\r\n{}\r\n{}",
                    model, world_.alice, body.size(), headers, body));
    return raw.receive().status;
  };
  ASSERT_EQ(ask("alice%2Fdigits", "traceparent: " + traceparent('a') + "\r\n"), 200);
  auto spans = this->spans('a', 5);
  expect_whole(spans, "POST /v2/models/{model}/infer");
  EXPECT_EQ(ask("alice%2Fnothing", "traceparent: " + traceparent('b') + "\r\n"), 400);
  spans = this->spans('b', 3);
  EXPECT_EQ(spans["infer"]["status"]["message"], "not-found");
  expect_inside(spans["queue"], spans["infer"]);
}

TEST_F(Traces, HaveTheWayOfACallOverGrpcWhichIsCountedToo) {
  world_.start_provider();
  const auto server = *oip_grpc::GrpcInferenceServer::start(world_.services(), "127.0.0.1:0");
  const auto stub = inference::GRPCInferenceService::NewStub(grpc::CreateChannel(
      fmt::format("127.0.0.1:{}", server->port()), grpc::InsecureChannelCredentials()));
  const auto ask = [&](const std::string& model, char digit) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + world_.alice);
    context.AddMetadata("traceparent", traceparent(digit));
    inference::ModelInferRequest request;
    request.set_model_name(model);
    auto& input = *request.add_inputs();
    input.set_name("image");
    input.set_datatype("FP32");
    for (const int dim : {1, 1, 8, 8}) input.add_shape(dim);
    request.add_raw_input_contents(std::string(core::as_text(picture(1)[0].value.bytes())));
    inference::ModelInferResponse response;
    return stub->ModelInfer(&context, request, &response).error_code();
  };
  ASSERT_EQ(ask("alice/digits", 'c'), grpc::StatusCode::OK);
  auto spans = this->spans('c', 5);
  expect_whole(spans, "inference.GRPCInferenceService/ModelInfer");
  EXPECT_EQ(ask("alice/nothing", 'd'), grpc::StatusCode::NOT_FOUND);
  spans = this->spans('d', 3);
  const auto seen = observe::testing::Exposition::parse(metrics());
  ASSERT_TRUE(seen.has_value());
  EXPECT_TRUE(seen->check_histograms());
  const auto calls = [&](const char* status) {
    return seen->at(
        fmt::format(R"(commensal_grpc_calls_total{{method="ModelInfer",status="{}"}})", status));
  };
  EXPECT_EQ(calls("OK"), 1);
  EXPECT_EQ(calls("NOT_FOUND"), 1);
  EXPECT_EQ(seen->at(R"(commensal_grpc_call_duration_seconds_count{method="ModelInfer"})"), 2);
  EXPECT_GT(seen->at(R"(commensal_grpc_call_duration_seconds_sum{method="ModelInfer"})"), 0);
}

}  // namespace
}  // namespace commensal::tests
