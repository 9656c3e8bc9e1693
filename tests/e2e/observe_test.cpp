// SPDX-License-Identifier: Apache-2.0
// What an operator sees of a gateway, as curl and its log show it.
#include <gmock/gmock.h>

#include <commensal/serve/observe/testing/exposition.hpp>
#include <fstream>
#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;

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
  Json logged(const std::string& request_id) {
    for (int tries = 0; tries < 200; ++tries, pause_ms(50)) {
      std::ifstream log(folder_.at("gateway.log"));
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
  const auto provider = start_provider("p");
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
  const auto seen = observe::testing::Exposition::parse(curl({metrics_}));
  ASSERT_TRUE(seen.has_value()) << seen.error().message;
  EXPECT_TRUE(seen->check_histograms());
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

}  // namespace
}  // namespace commensal::e2e
