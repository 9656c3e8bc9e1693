// SPDX-License-Identifier: Apache-2.0
// What the server makes of bytes on a socket.
#include <gtest/gtest.h>

#include <commensal/base/core/limits.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

class HttpConnection : public ::testing::Test {
 protected:
  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
  RawClient raw_{world_.port()};
  std::string with_token_ = "Host: x\r\nAuthorization: Bearer " + world_.alice + "\r\n";

  RawResponse ask(const std::string& request, bool is_head = false) {
    raw_.send(request);
    return raw_.receive(is_head);
  }
  static std::string error_of(const RawResponse& response) {
    const auto json = nlohmann::json::parse(response.body, nullptr, false);
    return json.is_object() ? json.value("error", "") : "";
  }
};

TEST_F(HttpConnection, IsKeptAndTakesPipelinedRequests) {
  const std::string live = "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n";
  raw_.send(live + live + live.substr(0, 10));
  EXPECT_EQ(raw_.receive().body, R"({"live":true})");
  EXPECT_EQ(raw_.receive().status, 200);
  raw_.send(live.substr(10));
  const RawResponse third = raw_.receive();
  EXPECT_EQ(third.status, 200);
  EXPECT_EQ(third.headers.at("connection"), "keep-alive");
  EXPECT_EQ(third.headers.at("content-type"), "application/json");
  EXPECT_TRUE(third.headers.contains("date"));
}

TEST_F(HttpConnection, EndsWhenTheClientAsksForIt) {
  EXPECT_EQ(ask("GET /v2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").status, 200);
  EXPECT_TRUE(raw_.is_closed());
  RawClient old(world_.port());
  old.send("GET /v2 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.receive().status, 200);
  EXPECT_TRUE(old.is_closed());
}

TEST_F(HttpConnection, HeadHasNoBody) {
  const RawResponse head = ask("HEAD /v2 HTTP/1.1\r\nHost: x\r\n\r\n", true);
  const RawResponse get = ask("GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(get.body.size()));
}

TEST_F(HttpConnection, SurvivesRefusalsOfWholeRequests) {
  EXPECT_EQ(ask("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n").status, 404);
  const RawResponse wrong = ask("DELETE /v2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "GET");
  const RawResponse nobody = ask("GET /v1/account HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(nobody.status, 401);
  EXPECT_EQ(nobody.headers.at("www-authenticate"), "Bearer realm=\"commensal\"");
  EXPECT_EQ(ask("GET /v1/account HTTP/1.1\r\n" + with_token_ + "\r\n").status, 200);
}

struct Malformed {
  const char* name;
  std::string bytes;
  int status;
};

TEST_F(HttpConnection, RefusesWhatIsNoRequestOfItsKind) {
  const std::string infer = "POST /v2/models/alice/digits/infer HTTP/1.1\r\n" + with_token_;
  const std::vector<Malformed> table = {
      {"noise", "\x16\x03\x01\x02 TLS hello\r\n\r\n", 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"future", "GET / HTTP/3.1\r\nHost: x\r\n\r\n", 505},
      {"bad field", "GET / HTTP/1.1\r\nHo st: x\r\n\r\n", 400},
      {"long header",
       "GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(limits::kHttpHeaderBytesMax, 'a'), 431},
      {"long target",
       "GET /" + std::string(limits::kHttpTargetBytesMax, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n",
       400},
      {"negative length", infer + "Content-Length: -1\r\n\r\n", 400},
      {"two lengths", infer + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"length and chunks", infer + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"too long", infer + fmt::format("Content-Length: {}\r\n\r\n", limits::kHttpBodyBytesMax + 1),
       413},
      {"too much JSON", infer + fmt::format("Content-Length: {}\r\n\r\n", 33 << 20), 413},
      {"JSON that is too long",
       infer +
           fmt::format("Inference-Header-Content-Length: {0}\r\nContent-Length: {0}\r\n\r\n",
                       33 << 20) +
           std::string(33 << 20, ' '),
       400},
      {"far too long", infer + "Content-Length: 18446744073709551615\r\n\r\n", 413},
      {"small body only",
       "GET /v1/account HTTP/1.1\r\n" + with_token_ + "Content-Length: 70000\r\n\r\n", 413},
      {"another coding", infer + "Content-Encoding: br\r\nContent-Length: 1\r\n\r\n", 415},
      {"two codings", infer + "Content-Encoding: gzip, gzip\r\nContent-Length: 1\r\n\r\n", 415},
      {"other coding", infer + "Transfer-Encoding: gzip, chunked\r\n\r\n", 415},
      {"expectation", infer + "Expect: a-miracle\r\nContent-Length: 1\r\n\r\n", 417},
      {"bad chunk", infer + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"many chunks",
       "POST /v1/accounts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + world_.root +
           "\r\nTransfer-Encoding: chunked\r\n\r\n11000\r\n" + std::string(0x11000, 'a') + "\r\n",
       413},
  };
  for (const Malformed& row : table) {
    RawClient raw(world_.port());
    raw.send(row.bytes);
    const RawResponse response = raw.receive();
    EXPECT_EQ(response.status, row.status) << row.name << ": " << response.body;
    EXPECT_NE(error_of(response), "") << row.name;
    raw.half_close();
    EXPECT_TRUE(raw.is_closed()) << row.name;
  }
}

TEST_F(HttpConnection, RefusesStrangersBeforeTheirBody) {
  raw_.send(
      "POST /v2/models/alice/digits/infer HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
      "Content-Length: 1000000000\r\n\r\n");
  const RawResponse response = raw_.receive();
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.headers.at("connection"), "close");
}

TEST_F(HttpConnection, AsksForTheBodyThatIsHeldBack) {
  raw_.send("POST /v2/models/alice/digits/infer HTTP/1.1\r\n" + with_token_ +
            "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(raw_.receive().status, 100);
  const RawResponse response = ask("{}");
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(error_of(response).find("'image' float32["), std::string::npos) << response.body;
}

TEST_F(HttpConnection, ReadsChunks) {
  raw_.send("POST /v2/models/alice/digits/infer HTTP/1.1\r\n" + with_token_ +
            "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const RawResponse response = ask("1;x=y\r\n}\r\n0\r\nTrailer: t\r\n\r\n");
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(error_of(response).find("is missing"), std::string::npos) << response.body;
  EXPECT_EQ(ask("GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
}

TEST_F(HttpConnection, SurvivesClientsThatLeave) {
  const std::string request =
      "PUT /v1/models/alice/m HTTP/1.1\r\n" + with_token_ + "Content-Length: 100\r\n\r\nabc";
  for (std::size_t size = 1; size <= request.size(); size += 7) {
    RawClient raw(world_.port());
    raw.send(std::string_view(request).substr(0, size));
  }
  EXPECT_EQ(ask("GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  const auto models = world_.client(world_.alice).models();
  ASSERT_TRUE(models);
  EXPECT_EQ(models->size(), 1u);
}

TEST_F(HttpConnection, FinishesWhatIsUnderWayWhenItStops) {
  EXPECT_EQ(ask("GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);  // then idle
  RawClient busy(world_.port());
  world_.hold_loop();
  busy.send("GET /v1/account HTTP/1.1\r\n" + with_token_ + "\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::thread stopper([&] { world_.stop_http(20'000); });
  EXPECT_TRUE(raw_.is_closed());
  world_.free_loop();
  const RawResponse response = busy.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("connection"), "close");
  busy.half_close();
  stopper.join();
}

TEST_F(HttpConnection, StopsWithoutAnAnswerThatNeverComes) {
  world_.hold_loop();
  raw_.send("GET /v1/account HTTP/1.1\r\n" + with_token_ + "\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  world_.stop_http(0);
  EXPECT_EQ(raw_.receive().status, 0);
}

}  // namespace
}  // namespace commensal::tests
