// SPDX-License-Identifier: Apache-2.0
// What an operator sees of a gateway, as curl and its log show it.
#include <gmock/gmock.h>

#include <commensal/base/core/clock.hpp>
#include <commensal/serve/observe/testing/exposition.hpp>
#include <fstream>
#include <optional>
#include <tests/e2e/collector.hpp>
#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;

std::string zeros(int count) {
  std::string text = "0";
  while (--count > 0) text += ",0";
  return text;
}

class Operator : public System {
 protected:
  std::string curl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "-s");
    int status = 0;
    std::string said = run(arguments, status, "/usr/bin/curl");
    EXPECT_EQ(status, 0);
    return said;
  }
  std::string token() const {
    const std::string text(core::as_text(*core::read_file(token_file_)));
    return text.substr(0, text.size() - 1);
  }
  /// An inference with headers of its own; its answer's head and body.
  std::string infer(const std::vector<std::string>& headers) {
    const auto values = picture(1)[0].value.data<float>();
    const Json body = {{"inputs",
                        {{{"name", "image"},
                          {"datatype", "FP32"},
                          {"shape", {1, 1, 8, 8}},
                          {"data", std::vector<float>(values.begin(), values.end())}}}}};
    std::vector<std::string> arguments = {"-i", url() + "/v2/models/operator/digits/infer",
                                          "-d", body.dump(),
                                          "-u", "operator:" + token()};
    for (const std::string& header : headers) arguments.insert(arguments.end(), {"-H", header});
    return curl(arguments);
  }
  /// The line of the log about this request; nothing where none comes.
  Json logged(const std::string& request_id, const std::string& where = "gateway.log") {
    for (int tries = 0; tries < 200; ++tries, pause_ms(50)) {
      std::ifstream log(folder_.at(where));
      for (std::string line; std::getline(log, line);) {
        if (!Json::accept(line)) continue;
        Json read = Json::parse(line);
        if (read["request_id"] == request_id) return read;
      }
    }
    return {};
  }
};

TEST_F(Operator, SeesFiguresAndEachRequest) {
  start_gateway({"--metrics", "127.0.0.1:0", "--triton-metrics", "--log-requests"});
  const auto provider = start_provider("p", {"--log-jobs"});
  client::Client client = connect();
  push(client);
  insist(client, 1);
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::string said =
      infer({"X-Request-Id: order-7", "traceparent: 00-" + trace + "-00f067aa0ba902b7-01"});
  EXPECT_THAT(said, HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(said, HasSubstr("X-Request-Id: order-7"));
  EXPECT_EQ(said.find("trace"), std::string::npos) << said;  // nobody is told of our span
  const Json line = logged("order-7");
  ASSERT_TRUE(line.is_object());
  EXPECT_EQ(line["trace_id"], trace);
  EXPECT_EQ(line["account"], "operator");
  EXPECT_EQ(line["model"], "operator/digits");
  EXPECT_EQ(line["version"], 1);
  EXPECT_EQ(line["code"], "ok");
  EXPECT_EQ(line["bytes_in"], 256);
  EXPECT_EQ(line["bytes_out"], 40);
  EXPECT_EQ(line["provider"], address_);
  EXPECT_EQ(line["receipt"].get<std::string>().size(), 64u);
  EXPECT_GT(line["computed_ms"].get<double>(), 0);
  const Json job = logged("order-7", "p.log");
  ASSERT_TRUE(job.is_object());
  EXPECT_EQ(job["trace_id"], trace);
  EXPECT_EQ(job["outcome"], "delivered");
  EXPECT_GT(job["computed_ms"].get<double>(), 0);
  // What cannot be read, or has no place to answer to, is a request too; neither costs anything.
  const std::size_t receipts = client.receipts(100)->size();
  const std::string place = R"({"shared_memory_region":"r","shared_memory_byte_size":40})";
  const std::string placed =
      R"({"inputs":[{"name":"image","datatype":"FP32","shape":[1,1,8,8],"data":[)" + zeros(64) +
      R"(]}],"outputs":[{"name":"logits","parameters":)" + place + "}]}";
  for (const auto& [id, body] : {std::pair("order-8", std::string("{")), {"order-9", placed}}) {
    curl({url() + "/v2/models/operator/digits/infer", "-d", body, "-u", "operator:" + token(), "-H",
          std::string("X-Request-Id: ") + id});
    const Json refused = logged(id);
    ASSERT_TRUE(refused.is_object()) << id;
    EXPECT_EQ(refused["code"], "invalid-argument");
  }
  EXPECT_EQ(client.receipts(100)->size(), receipts);
  const auto seen = observe::testing::Exposition::parse(curl({metrics_}));
  ASSERT_TRUE(seen.has_value()) << seen.error().message;
  EXPECT_TRUE(seen->check_histograms());
  EXPECT_EQ(
      seen->at(R"(commensal_requests_total{code="invalid-argument",model="unknown",version=""})"),
      2);
  const std::string of = R"(model="operator/digits",version="1")";
  EXPECT_GE(seen->at(R"(commensal_requests_total{code="ok",)" + of + "}"), 2);
  EXPECT_EQ(seen->at("nv_inference_request_success{" + of + "}"),
            seen->at(R"(commensal_requests_total{code="ok",)" + of + "}"));
  EXPECT_EQ(seen->at("commensal_providers_connected{}"), 1);
  const auto status_of = [&](const std::string& where) {
    return curl({"-o", folder_.at("said"), "-w", "%{http_code}", where});
  };
  EXPECT_EQ(status_of(url() + "/metrics"), "401");
  EXPECT_EQ(status_of(metrics_.substr(0, metrics_.rfind('/')) + "/v2"), "404");
}

TEST_F(Operator, IsToldOfNoRequestsUnlessItAsks) {
  start_gateway();
  EXPECT_EQ(metrics_, "");
  const auto provider = start_provider("p");
  client::Client client = connect();
  push(client);
  insist(client, 1);
  EXPECT_THAT(infer({"X-Request-Id: a b"}), HasSubstr("X-Request-Id: "));
  EXPECT_THAT(curl({"-u", "operator:" + token(), url() + "/metrics"}),
              HasSubstr("commensal_requests_total{"));
  gateway_->kill();
  std::ifstream log(folder_.at("gateway.log"));
  for (std::string line; std::getline(log, line);) EXPECT_FALSE(Json::accept(line)) << line;
}

class Traced : public Operator {
 protected:
  const core::SystemClock clock_{};

  /// So many requests of this trace, whose clients wait for nothing but their answers.
  void ask(char digit, int count) {
    const std::string traceparent =
        "traceparent: 00-" + std::string(32, digit) + "-00f067aa0ba902b7-01";
    const std::int64_t began_ns = clock_.monotonic_ns();
    for (int i = 0; i < count; ++i) EXPECT_THAT(infer({traceparent}), HasSubstr("HTTP/1.1 200"));
    EXPECT_LT(clock_.monotonic_ns() - began_ns, count * std::int64_t{2'000'000'000});
  }
  /// How many arrive there of this trace.
  static std::size_t arrived(const Collector& collector, char digit, std::size_t wanted) {
    std::size_t count = 0;
    for (int tries = 0; tries < 600 && count < wanted; ++tries, pause_ms(20))
      count = collector.spans(std::string(32, digit)).size();
    return count;
  }
  double dropped() {
    const auto seen = observe::testing::Exposition::parse(curl({metrics_}));
    return seen ? seen->at("commensal_spans_dropped_total{}") : -1;
  }
  void expect_dropped(double least) {
    for (int tries = 0; tries < 300 && dropped() < least; ++tries) pause_ms(20);
    EXPECT_GE(dropped(), least);
  }
};

TEST_F(Traced, SpansReachACollectorWhateverItWasBefore) {
  std::optional<Collector> collector(std::in_place);
  const std::uint16_t port = collector->port();
  start_gateway({"--metrics", "127.0.0.1:0", "--otlp-endpoint", collector->url() + "/some/"});
  const auto provider = start_provider("p");
  client::Client client = connect();
  push(client);
  insist(client, 1);
  ask('a', 2);
  EXPECT_EQ(arrived(*collector, 'a', 10), 10u);
  EXPECT_THAT(collector->head(), HasSubstr("POST /some/v1/traces HTTP/1.1\r\n"));
  EXPECT_THAT(collector->head(), HasSubstr("Content-Type: application/json"));
  EXPECT_EQ(dropped(), 0);
  collector->set(Collector::Mood::kFails);
  ask('b', 2);
  expect_dropped(10);
  const std::size_t bodies = collector->bodies();
  collector->set(Collector::Mood::kHangs);
  ask('c', 2);
  for (int tries = 0; tries < 300 && collector->bodies() == bodies; ++tries) pause_ms(20);
  ask('c', 20);  // while it is waited for
  expect_dropped(20);
  collector.reset();  // nobody listens
  ask('d', 2);
  expect_dropped(30);
  collector.emplace(port);
  ask('e', 2);
  EXPECT_EQ(arrived(*collector, 'e', 10), 10u);
  EXPECT_EQ(collector->spans(std::string(32, 'b')).size(), 0u);
  collector->set(Collector::Mood::kHangs);
  ask('f', 1);
  const std::int64_t began_ns = clock_.monotonic_ns();
  gateway_->signal(SIGTERM);
  EXPECT_EQ(gateway_->wait(), 0);
  EXPECT_LT(clock_.monotonic_ns() - began_ns, std::int64_t{15'000'000'000});
  std::ifstream log(folder_.at("gateway.log"));
  const std::string text(std::istreambuf_iterator<char>(log), {});
  EXPECT_THAT(text, HasSubstr("spans do not reach " + collector->url() + "/some/"));
  EXPECT_THAT(text, HasSubstr("spans reach " + collector->url() + "/some/ again"));
}

TEST_F(Traced, AnEndpointIsAUrl) {
  for (const char* wrong :
       {"127.0.0.1:4318", "http://", "http://a b:4318", "ftp://a:1", "http://a:4318/x?y"}) {
    int status = 0;
    Folder folder;
    (void)run({"gateway", "--data-dir", folder.at("g"), "--otlp-endpoint", wrong}, status);
    EXPECT_EQ(status, 1) << wrong;
  }
}

}  // namespace
}  // namespace commensal::e2e
