// SPDX-License-Identifier: Apache-2.0
// Probes against live servers on this machine, well-behaved and not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/exchange.hpp>
#include <commensal/collocation/probe/kinds.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/collocation/probe/testing/fake_server.hpp>

namespace commensal::probe {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RemoteProbes : public ::testing::Test {
 protected:
  /// One sample of `spec` from a server that answers `answer`.
  Sample ask(const std::string& kind, const std::string& answer) {
    FakeServer server([&](int socket, const std::string& request) {
      request_ = request;
      FakeServer::put(socket, answer);
    });
    return (*open(kind + ":" + server.url(), deps_))->sample();
  }

  const core::SystemClock clock_;
  const Dependencies deps_{clock_};
  std::string request_;
};

TEST_F(RemoteProbes, ReadEveryMiner) {
  const std::pair<const char*, double> figures[] = {
      {"xmrig", 1207.19},       {"lolminer", 121765400}, {"trex", 45290543},
      {"nbminer", 36309872.44}, {"gminer", 105},         {"excavator", 9199373.942307692}};
  for (const auto& [kind, value] : figures) {
    const std::int64_t before_ns = clock_.monotonic_ns();
    const Sample sample = ask(kind, http_text(recorded(std::string(kind) + ".json")));
    EXPECT_TRUE(sample.is_fresh()) << kind << ": " << sample.why;
    EXPECT_DOUBLE_EQ(sample.value, value);
    EXPECT_GE(sample.at_ns, before_ns);
    EXPECT_LE(sample.at_ns, clock_.monotonic_ns());
    EXPECT_THAT(request_, StartsWith("GET " + std::string(find_miner(kind)->target) + " HTTP/1.1"));
  }
}

TEST_F(RemoteProbes, SendATokenAndAnotherTarget) {
  FakeServer server([&](int socket, const std::string& request) {
    request_ = request;
    FakeServer::put(socket, http_text(recorded("xmrig.json")));
  });
  const std::string url = bent(server.url(), "//", "//secret@") + "/1/summary";
  EXPECT_TRUE((*open("xmrig:" + url, deps_))->sample().is_fresh());
  EXPECT_THAT(request_, StartsWith("GET /1/summary HTTP/1.1\r\n"));
  EXPECT_THAT(request_, HasSubstr("\r\nAuthorization: Bearer secret\r\n"));
}

TEST_F(RemoteProbes, ReadExcavatorOverTcp) {
  std::string line = recorded("excavator.json");
  std::erase(line, '\n');
  FakeServer server([&](int socket, const std::string& request) {
    request_ = request;
    FakeServer::put(socket, line.substr(0, 100));
    FakeServer::put(socket, line.substr(100) + "\nmore");
  });
  const Sample sample = (*open("excavator:" + bent(server.url(), "http", "tcp"), deps_))->sample();
  EXPECT_TRUE(sample.is_fresh()) << sample.why;
  EXPECT_DOUBLE_EQ(sample.value, 9199373.942307692);
  EXPECT_EQ(request_, "{\"id\":1,\"method\":\"algorithm.list\",\"params\":[]}\n");
}

TEST_F(RemoteProbes, ReadPrometheus) {
  FakeServer server([&](int socket, const std::string&) {
    FakeServer::put(socket, http_text(recorded("training.prom")));
  });
  const auto probe =
      open("prometheus:" + server.url() + "/metrics#steps_total{job=\"train\"}", deps_);
  ASSERT_TRUE(probe) << probe.error().message;
  EXPECT_EQ((*probe)->traits().quantity, Quantity::kWork);
  EXPECT_EQ((*probe)->sample().value, 2350);
}

TEST_F(RemoteProbes, UnderstandPiecesAndTheEndOfTheConnection) {
  const std::string body = recorded("xmrig.json");
  EXPECT_TRUE(ask("xmrig", "HTTP/1.0 200 OK\r\n\r\n" + body).is_fresh());
  char size[16];
  (void)std::snprintf(size, sizeof size, "%zx", body.size() - 7);
  const std::string pieces = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n" +
                             body.substr(0, 7) + "\r\n" + size + "\r\n" + body.substr(7) +
                             "\r\n0\r\n\r\n";
  EXPECT_TRUE(ask("xmrig", pieces).is_fresh());
}

TEST_F(RemoteProbes, RefuseBadServers) {
  const std::string body = recorded("xmrig.json");
  const std::string whole = http_text(body);
  const struct {
    std::string answer;
    const char* why;
  } cases[] = {
      {"", "cut off"},
      {"HTTP/1.1 200 OK\r\nConte", "cut off"},
      {whole.substr(0, whole.size() - 1), "cut off"},
      {"SSH-2.0-OpenSSH_9.2\r\n", "no HTTP"},
      {std::string(100, '\0'), "no HTTP"},
      {http_text(body, "500 Internal Server Error"), "status 500"},
      {http_text(body, "404 Not Found"), "status 404"},
      {http_text(body, "302 Found"), "status 302"},
      {http_text("<html>hello</html>"), "no JSON"},
      {http_text("{}"), "hashrate.total"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "longer than"},
      {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "no HTTP"},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(40'000, 'x'), "longer than"},
      {"HTTP/1.1 200 OK\r\n\r\n" + std::string(limits::kProbeBodyBytesMax + 1, ' '), "longer than"},
  };
  for (const auto& c : cases) {
    const Sample sample = ask("xmrig", c.answer);
    EXPECT_EQ(sample.state, State::kInvalid) << c.answer.substr(0, 60);
    EXPECT_THAT(sample.why, HasSubstr(c.why)) << c.answer.substr(0, 60);
  }
}

TEST_F(RemoteProbes, WaitForNobody) {
  constexpr std::int64_t kWaitMs = 150;
  std::atomic<bool> done{false};
  const FakeServer::Script scripts[] = {
      [&](int, const std::string&) {  // says nothing
        while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      },
      [&](int socket, const std::string&) {  // a byte now and then
        FakeServer::put(socket, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        for (; !done; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
          FakeServer::put(socket, "x");
      }};
  for (const auto& script : scripts) {
    done = false;
    FakeServer server(script);
    const std::int64_t began_ns = clock_.monotonic_ns();
    const Endpoint endpoint{false, "", "127.0.0.1", server.port(), ""};
    const auto got = http_get(endpoint, "/", clock_, kWaitMs);
    const std::int64_t took_ms = (clock_.monotonic_ns() - began_ns) / 1'000'000;
    done = true;
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, core::ErrorCode::kDeadlineExceeded);
    EXPECT_GE(took_ms, kWaitMs - 1);
    EXPECT_LT(took_ms, kWaitMs + 2000);
  }
  std::uint16_t port = 0;
  {
    port = FakeServer([](int, const std::string&) {}).port();
  }
  const Sample sample = (*open("xmrig:http://127.0.0.1:" + std::to_string(port), deps_))->sample();
  EXPECT_THAT(sample.why, HasSubstr("no connection to port"));
}

}  // namespace
}  // namespace commensal::probe
