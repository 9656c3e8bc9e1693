// SPDX-License-Identifier: Apache-2.0
// Gateways whose state is in PostgreSQL: one writes, another passes on to it.
#include <gmock/gmock.h>
#include <signal.h>

#include <commensal/base/core/network.hpp>
#include <commensal/base/store/testing/postgres_server.hpp>
#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// One of loopback that was free a moment ago.
std::string free_port() { return std::to_string(core::listen_on({"127.0.0.1", 0}).value().port); }

class Database : public System {
 protected:
  void SetUp() override {
    if (const auto missing = store::testing::PostgresServer::missing_package()) {
      GTEST_SKIP() << *missing;
    }
    server_.emplace();
    ::setenv("COMMENSAL_DB", server_->url().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("COMMENSAL_DB"); }

  /// A second gateway on the same folder and database, which waits.
  std::unique_ptr<Process> start_second(const std::string& http = free_port(),
                                        const std::string& providers = free_port()) {
    auto second = std::make_unique<Process>(
        std::vector<std::string>{"gateway", "--data-dir", folder_.at(data_), "--http",
                                 "127.0.0.1:" + http, "--providers", "127.0.0.1:" + providers,
                                 "--json", "--no-money", "--grpc", "off", "--lease-ms", "1000"},
        folder_.at("second.log"));
    for (int tries = 0; tries < 600 && said("second.log").find("standby") == std::string::npos;
         ++tries) {
      pause_ms(50);
    }
    return second;
  }
  std::string said(const std::string& log) const {
    const auto bytes = core::read_file(folder_.at(log));
    return bytes ? std::string(core::as_text(*bytes)) : "";
  }

  std::optional<store::testing::PostgresServer> server_;
};

TEST_F(Database, AStandbyServesWhatAKilledGatewayHadAcknowledged) {
  start_gateway({"--lease-ms", "1000"});
  const std::string http = free_port(), providers = free_port();
  const auto second = start_second(http, providers);
  EXPECT_THAT(said("second.log"),
              HasSubstr("note: waiting as a standby: the database is in use by the gateway of "));
  EXPECT_THAT(said("second.log"), Not(HasSubstr(store::testing::PostgresServer::kPassword)));
  provider_port_ = providers + ",127.0.0.1:" + provider_port_;  // by way of the second
  const auto provider = start_provider("p");
  auto client = connect();
  push(client);
  const auto token = client.create_account("alice", "consumer");
  ASSERT_TRUE(token.has_value()) << token.error().message;
  const client::Answer answer = insist(client, 1);
  pause_ms(1500);  // longer than a lease
  http_port_ = http;
  auto at_second = connect();
  insist(at_second, 2);
  // What is written last may not be missed by who has waited since before.
  ASSERT_TRUE(at_second.create_account("bob", "consumer"));

  gateway_->kill();
  at_second = connect();
  const auto receipt = at_second.receipt(answer.receipt);  // it waits until somebody writes
  ASSERT_TRUE(receipt.has_value()) << receipt.error().message;
  EXPECT_EQ(receipt->account, "operator");
  ASSERT_NE(second->read_line(), "");
  EXPECT_TRUE(at_second.opening(answer.receipt));
  EXPECT_FALSE(at_second.create_account("bob", "consumer")) << "there is one";
  auto alice = *client::Client::create({.url = url(), .token = token->token, .wait_ms = 30'000});
  EXPECT_EQ(alice.who_am_i()->name, "alice");
  EXPECT_NE(insist(at_second, 3).receipt, answer.receipt);
}

// What is under way is answered, and whoever comes again is served by the next.
TEST_F(Database, AGatewayThatIsToldToStopFailsNobody) {
  start_gateway({"--lease-ms", "60000"});  // it is given back
  const auto provider = start_provider("p");
  auto client = connect();
  push(client);
  insist(client, 1);
  const std::string http = free_port();
  const auto second = start_second(http);
  provider->signal(SIGSTOP);
  core::Result<client::Answer> answer = core::fail(core::ErrorCode::kInternal, "none");
  std::jthread asks([&] { answer = client.infer("operator/digits", 0, picture(2)); });
  pause_ms(300);
  gateway_->signal(SIGTERM);
  pause_ms(300);
  provider->signal(SIGCONT);
  asks.join();
  EXPECT_TRUE(answer) << answer.error().message;
  http_port_ = http;
  auto later = connect();
  EXPECT_TRUE(later.who_am_i()) << "before there is another that writes, or after";
  EXPECT_EQ(gateway_->wait(), 0);
  ASSERT_NE(second->read_line(), "");
  EXPECT_TRUE(later.receipt(answer->receipt));
}

// The fault: it cut off the stream of a provider that was at work, and answers that had paused.
TEST_F(Database, ARelayThatIsToldToStopFailsNobody) {
  start_gateway({"--lease-ms", "60000"});
  {
    auto client = connect();
    push(client);
  }
  const std::string http = free_port(), providers = free_port();
  const auto relay = start_second(http, providers);
  provider_port_ = providers;
  http_port_ = http;
  const auto provider = start_provider("p");
  core::Result<client::Answer> answer = core::fail(core::ErrorCode::kInternal, "none");
  {
    auto client = connect();
    insist(client, 1);
    provider->signal(SIGSTOP);
    std::jthread asks([&] { answer = client.infer("operator/digits", 0, picture(2)); });
    pause_ms(300);
    relay->signal(SIGTERM);
    pause_ms(1'500);
    provider->signal(SIGCONT);
    asks.join();
  }
  EXPECT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(relay->wait(), 0);
}

TEST_F(Database, AGatewayThatWasAsleepEndsWhenAnotherHasTakenOver) {
  start_gateway({"--lease-ms", "1000"});
  auto client = connect();
  push(client);
  gateway_->signal(SIGSTOP);
  const auto second = start_second("0", "0");
  const std::string line = second->read_line();
  ASSERT_NE(line, "") << said("second.log");
  gateway_->signal(SIGCONT);
  int status = 0;
  EXPECT_THAT(gateway_->read_all(status), HasSubstr("database: another gateway has taken over"));
  EXPECT_EQ(status, 1);
  const std::string url = Json::parse(line).at("http");
  http_port_ = url.substr(url.rfind(':') + 1);
  EXPECT_TRUE(connect().get_json("/v2/models/operator/digits"));
  // In order: the next need not wait until a lease has run out.
  second->signal(SIGTERM);
  EXPECT_EQ(second->wait(), 0);
  EXPECT_EQ(server_->psql("SELECT until FROM commensal_writer"), "-infinity\n");
}

TEST_F(Database, AFolderHasItsStateInOnePlace) {
  start_gateway({"--lease-ms", "1000"});
  gateway_.reset();
  ::unsetenv("COMMENSAL_DB");
  const auto refusal = [&](const std::string& folder, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "gateway",     "--data-dir",  folder_.at(folder), "--http", "127.0.0.1:0",
        "--providers", "127.0.0.1:0", "--grpc",           "off",    "--no-money"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::filesystem::remove(folder_.at("refused.log"));
    Process refused(arguments, folder_.at("refused.log"));
    EXPECT_EQ(refused.wait(), 1);
    return said("refused.log");
  };
  EXPECT_THAT(refusal(data_, {}), HasSubstr("is in a database: expected its URL"));
  data_ = "other";
  http_port_ = provider_port_ = "0";
  start_gateway();
  gateway_.reset();
  EXPECT_THAT(refusal("other", {"--db", server_->url()}),
              HasSubstr("has its state in state.sqlite, which is not moved to a database"));
  EXPECT_THAT(refusal("third", {"--db", server_->url("s3cret-wrong")}),
              HasSubstr("password authentication failed"));
}

}  // namespace
}  // namespace commensal::e2e
