// SPDX-License-Identifier: Apache-2.0
// What operators see of requests, over real sockets.
#include <gtest/gtest.h>

#include <commensal/serve/observe/testing/exposition.hpp>
#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>
#include <thread>

namespace commensal::tests {
namespace {

using observe::testing::Exposition;

class HttpObserve : public ::testing::Test {
 protected:
  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
  client::Client alice_ = world_.client(world_.alice);

  static RawResponse ask(std::uint16_t port, const std::string& line,
                         const std::string& headers = "") {
    RawClient raw(port);
    raw.send(fmt::format("{} HTTP/1.1\r\nHost: x\r\n{}\r\n", line, headers));
    return raw.receive();
  }
  static std::string shows(const std::string& token) {
    return "Authorization: Bearer " + token + "\r\n";
  }
  Exposition metrics() {
    const RawResponse response = ask(world_.metrics_port(), "GET /metrics");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    auto made = Exposition::parse(response.body);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    if (!made) return {};
    EXPECT_TRUE(made->check_histograms());
    return *std::move(made);
  }
};

TEST_F(HttpObserve, CountsAreThoseOfTheRequestsMade) {
  world_.start_provider();
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(alice_.infer("alice/digits", 0, picture(i)));
  tensor::NamedTensors wrong = picture(0);
  wrong[0].name = "nothing";
  EXPECT_FALSE(alice_.infer("alice/digits", 0, wrong));
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(alice_.infer(fmt::format("alice/nothing{}", i), 0, picture(0)));
  ASSERT_EQ(ask(world_.port(), "GET /v2/models/alice/nothing").status, 400);
  ASSERT_EQ(ask(world_.port(), "GET /nowhere").status, 404);
  const Exposition seen = metrics();
  const std::string of = R"(model="alice/digits",version="1")";
  EXPECT_EQ(seen.at(R"(commensal_requests_total{code="ok",)" + of + "}"), 5);
  EXPECT_EQ(seen.at(R"(commensal_requests_total{code="invalid-argument",)" + of + "}"), 1);
  EXPECT_EQ(seen.at(R"(commensal_requests_total{code="not-found",model="unknown",version=""})"), 3);
  EXPECT_EQ(seen.sum("commensal_requests_total"), 9);
  EXPECT_EQ(seen.at("commensal_request_duration_seconds_count{" + of + "}"), 6);
  EXPECT_EQ(seen.at("commensal_request_bytes_sum{" + of + "}"), 6 * 256);
  EXPECT_EQ(seen.at("commensal_response_bytes_sum{" + of + "}"), 5 * 40);
  const double seconds = seen.at("commensal_request_duration_seconds_sum{" + of + "}");
  EXPECT_NEAR(seconds,
              seen.at("commensal_request_queue_seconds_sum{" + of + "}") +
                  seen.at("commensal_request_compute_seconds_sum{" + of + "}"),
              1e-4);
  EXPECT_GT(seconds, 0);
  const auto route = [&](const std::string& method, const std::string& route, int status) {
    return seen.at(
        fmt::format(R"(commensal_http_requests_total{{method="{}",route="{}",status="{}"}})",
                    method, route, status));
  };
  EXPECT_EQ(route("POST", "/v2/models/{model}/infer", 200), 5);
  EXPECT_EQ(route("POST", "/v2/models/{model}/infer", 400), 4);
  EXPECT_EQ(route("GET", "/v2/models/{model}", 400), 1);
  EXPECT_EQ(route("none", "none", 404), 1);
  EXPECT_EQ(seen.at("commensal_providers_connected{}"), 1);
  EXPECT_EQ(seen.at("commensal_jobs_waiting{}"), 0);
  EXPECT_GT(seen.at("commensal_uptime_seconds{}"), 0);
  EXPECT_GT(seen.at("commensal_memory_max_bytes{}"), 0);
}

TEST_F(HttpObserve, OperatorsReadMetricsAndTheListenerForThemServesNothingElse) {
  EXPECT_EQ(ask(world_.port(), "GET /metrics").status, 401);
  EXPECT_EQ(ask(world_.port(), "GET /metrics", shows(world_.alice)).status, 403);
  const RawResponse read = ask(world_.port(), "GET /metrics", shows(world_.root));
  EXPECT_EQ(read.status, 200);
  EXPECT_TRUE(Exposition::parse(read.body));
  EXPECT_EQ(ask(world_.metrics_port(), "POST /metrics", "Content-Length: 0\r\n").status, 405);
  for (const char* target : {"/v2/health/live", "/v1/account", "/v1/accounts", "/"})
    EXPECT_EQ(ask(world_.metrics_port(), std::string("GET ") + target, shows(world_.root)).status,
              404)
        << target;
  EXPECT_EQ(
      metrics().at(R"(commensal_http_requests_total{method="GET",route="/metrics",status="403"})"),
      1);
}

TEST_F(HttpObserve, AnswersHaveTheRequestsId) {
  const auto id_of = [&](const std::string& line, const std::string& headers) {
    const RawResponse response = ask(world_.port(), line, headers);
    const auto found = response.headers.find("x-request-id");
    return found == response.headers.end() ? "" : found->second;
  };
  EXPECT_EQ(id_of("GET /v2", "X-Request-Id: order-7\r\n"), "order-7");
  EXPECT_EQ(id_of("GET /v2/models/a/b", "X-Request-Id: order-7\r\n"), "order-7");  // refused
  EXPECT_EQ(id_of("GET /nowhere", "X-Request-Id: order-7\r\n"), "order-7");
  EXPECT_EQ(id_of("GET /v1/account", "X-Request-Id: order-7\r\n"), "order-7");  // no token
  const std::string ours = id_of("GET /v2", "");
  EXPECT_EQ(ours.size(), 32u);
  EXPECT_NE(ours, id_of("GET /v2", ""));
  for (const std::string& hostile :
       {std::string("X-Request-Id: a b\r\n"), std::string("X-Request-Id: <b>\r\n"),
        "X-Request-Id: " + std::string(200, 'a') + "\r\n",
        std::string("X-Request-Id: a\r\nX-Request-Id: b\r\n")})
    EXPECT_EQ(id_of("GET /v2", hostile).size(), 32u) << hostile;
}

}  // namespace
}  // namespace commensal::tests
