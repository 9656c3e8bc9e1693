// SPDX-License-Identifier: Apache-2.0
// A model that computes for hours: who leaves, or ends a daemon, does not wait for it.
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <commensal/base/core/clock.hpp>
#include <commensal/lab/hostile/models.hpp>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

std::int64_t now_ms() { return core::SystemClock().monotonic_ns() / 1'000'000; }

constexpr std::int64_t kHours = std::int64_t{1} << 23;  // in trips

class Endless : public System {
 protected:
  void push_looping(client::Client& client, std::int64_t trips) {
    const core::Bytes model = lab::hostile::looping_model(trips);
    client::PushRequest request;
    request.model = "operator/looping";
    request.bytes = model;
    const auto pushed = client.push(request);
    ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
  }
  /// A gateway, and a provider that has answered something else. Returns its operator.
  client::Client serve(std::unique_ptr<Process>& provider) {
    start_gateway();
    auto client = connect();
    push(client);
    push_looping(client, kHours);
    provider = start_provider("one");
    insist(client, 0);
    return client;
  }
  /// Asks for it and returns the socket, once it is being computed.
  int ask_and_wait() {
    const int consumer = ask();
    pause_ms(1500);
    return consumer;
  }
  /// Told to, in order and at once, with what computes for it.
  static void expect_end(Process& daemon) {
    const auto workers = children_of(daemon.pid());
    EXPECT_FALSE(workers.empty());
    const std::int64_t begin_ms = now_ms();
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 0);
    EXPECT_LT(now_ms() - begin_ms, 1'500);
    for (const pid_t worker : workers) EXPECT_TRUE(is_gone(worker));
  }
  /// Asks for it and returns the socket.
  int ask() {
    const core::Bytes token = *core::read_file(token_file_);
    std::string bearer(core::as_text(token));
    bearer.pop_back();
    const std::string body =
        R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})";
    const std::string request = fmt::format(
        "POST /v2/models/operator%2Flooping/infer HTTP/1.1\r\nHost: x\r\n"
        "Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{}",
        bearer, body.size(), body);
    const int made = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(http_port_)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(made, request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    return made;
  }
};

TEST_F(Endless, WhatTakesMoreThanItsBudgetIsRefusedInOneLine) {
  start_gateway({"--ops-max", "1000000000"});
  auto client = connect();
  push(client);
  push_looping(client, 600);
  const auto provider = start_provider("one");
  insist(client, 0);
  const int consumer = ask();
  std::string said(4096, 0);
  said.resize(static_cast<std::size_t>(
      std::max<ssize_t>(::recv(consumer, said.data(), said.size(), 0), 0)));
  EXPECT_EQ(said.substr(0, said.find('\r')), "HTTP/1.1 422 Unprocessable Content");
  EXPECT_NE(said.find("the compute budget of 1000000000 operations is used up"), said.npos) << said;
  ::close(consumer);
  insist(client, 1);
}

TEST_F(Endless, AConsumerThatLeavesFreesItsProvider) {
  std::unique_ptr<Process> provider;
  auto client = serve(provider);
  ::close(ask_and_wait());
  const std::int64_t begin_ms = now_ms();
  insist(client, 1);
  EXPECT_LT(now_ms() - begin_ms, 2'000);
}

TEST_F(Endless, AnInferBeyondItsTimeoutFreesItsProvider) {
  std::unique_ptr<Process> provider;
  auto client = serve(provider);
  const std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}],)"
                           R"("parameters":{"timeout":700500}})";
  const std::int64_t begin_ms = now_ms();
  const auto said =
      client.post("/v2/models/operator%2Flooping/infer", "application/json", core::as_bytes(body));
  ASSERT_FALSE(said.has_value());
  EXPECT_EQ(said.error().code, core::ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(said.error().message, "Request timeout expired: no answer within 701 ms");
  EXPECT_GE(now_ms() - begin_ms, 700);
  insist(client, 1);
  EXPECT_LT(now_ms() - begin_ms, 2'700);
}

// As TLS does, which says goodbye first.
TEST_F(Endless, AConsumerThatLeavesWithBytesUnreadFreesItsProvider) {
  std::unique_ptr<Process> provider;
  auto client = serve(provider);
  const int consumer = ask_and_wait();
  ASSERT_EQ(::send(consumer, "P", 1, 0), 1);
  pause_ms(100);
  ::close(consumer);
  const std::int64_t begin_ms = now_ms();
  insist(client, 1);
  EXPECT_LT(now_ms() - begin_ms, 2'000);
}

// By the command's own user: its provider is free again.
TEST_F(Endless, AnInferThatIsInterruptedIsNotAnswered) {
  std::unique_ptr<Process> provider;
  auto client = serve(provider);
  const std::string input(
      "\x93NUMPY\x01\0\x38\0{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n\0\0\0", 70);
  ASSERT_TRUE(core::write_file_atomically(folder_.at("x.npy"), core::as_bytes(input)));
  const std::vector<std::string> at = {"--gateway", url(), "--token-file", token_file_};
  std::vector<std::string> words = {"infer", "looping", "--input", folder_.at("x.npy")};
  words.insert(words.end(), at.begin(), at.end());
  Process infer(words, folder_.at("infer.log"));
  const auto in_hand = [&] {
    int status = 0;
    std::vector<std::string> asked = {"providers", "--json"};
    asked.insert(asked.end(), at.begin(), at.end());
    return Json::parse(run(asked, status)).at("providers").at(0).at("queued").get<int>();
  };
  for (int tries = 0; tries < 100 && in_hand() == 0; ++tries) pause_ms(50);
  ASSERT_EQ(in_hand(), 1);
  infer.signal(SIGINT);
  EXPECT_EQ(infer.wait(), 128 + SIGINT);
  const std::int64_t begin_ms = now_ms();
  insist(client, 1);
  EXPECT_LT(now_ms() - begin_ms, 2'000);
  EXPECT_EQ(in_hand(), 0);
}

TEST_F(Endless, AProviderEndsWhenItIsTold) {
  std::unique_ptr<Process> provider;
  serve(provider);
  const int consumer = ask_and_wait();
  expect_end(*provider);
  ::close(consumer);
}

TEST_F(Endless, AGatewayEndsInTheMidstOfAnAudit) {
  start_gateway({"--audit-probability", "1"});
  auto client = connect();
  push_looping(client, 600);  // some seconds, less than a provider may be silent
  const auto provider = start_provider("one");
  pause_ms(500);
  const int consumer = ask();
  char first = 0;
  ASSERT_EQ(::recv(consumer, &first, 1, 0), 1);  // answered: now it is audited
  pause_ms(300);
  expect_end(*gateway_);
  ::close(consumer);
}

}  // namespace
}  // namespace commensal::e2e
