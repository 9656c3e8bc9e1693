// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/serve/rpc/direct.hpp>

// What only the in-process twin can do; contract_test.cpp has the rest.

namespace commensal::rpc {
namespace {

using ::testing::ElementsAre;

using Log = std::vector<std::string>;

class Gateway final : public GatewayPort {
 public:
  explicit Gateway(Log& log) : log_(log) {}
  StreamId on_open(std::shared_ptr<ProviderStream> opened, const Channel&,
                   const std::string&) override {
    stream = std::move(opened);
    log_.push_back(fmt::format("open {}", ++opened_));
    return opened_;
  }
  void on_message(StreamId id, ToGateway message) override {
    log_.push_back(fmt::format("{} load {}", id, std::get<Load>(message).queued));
  }
  void on_close(StreamId id) override { log_.push_back(fmt::format("close {}", id)); }
  core::Result<std::string> model_path(const std::string&, const core::Digest&,
                                       const core::Digest&) override {
    return core::fail(core::ErrorCode::kNotFound, "no models here");
  }
  std::shared_ptr<ProviderStream> stream;

 private:
  Log& log_;
  StreamId opened_ = 0;
};

class Provider final : public ProviderPort {
 public:
  explicit Provider(Log& log) : log_(log) {}
  void on_message(ToProvider message) override {
    log_.push_back("heard " + std::get<Welcome>(message).session_token);
  }
  void on_close(core::Error reason) override { log_.push_back("lost: " + reason.message); }

 private:
  Log& log_;
};

class DirectTest : public ::testing::Test {
 protected:
  DirectTest() { server.listen(gateway); }

  core::ManualClock clock;
  core::testing::ManualLoop loop{clock};
  Log log;
  Gateway gateway{log};
  DirectServer server{loop};
  std::shared_ptr<Provider> provider = std::make_shared<Provider>(log);
};

TEST_F(DirectTest, LosesWhatIsOnItsWayWhenTheConnectionIsCut) {
  DirectClient client(server);
  client.attach(provider);
  client.send(Load{1, {}});
  loop.run_until_idle();
  client.send(Load{2, {}});
  gateway.stream->send(Welcome{"lost"});
  client.cut();
  client.cut();
  client.send(Load{3, {}});
  gateway.stream->send(Welcome{"dropped"});
  gateway.stream->close();
  EXPECT_THAT(log, ElementsAre("open 1", "1 load 1"));  // nothing comes before the loop turns
  loop.run_until_idle();
  EXPECT_THAT(log, ElementsAre("open 1", "1 load 1", "close 1", "lost: the connection was cut"));

  log.clear();
  client.attach(provider);
  client.send(Load{4, {}});
  loop.run_until_idle();
  EXPECT_THAT(log, ElementsAre("open 2", "2 load 4"));
}

TEST_F(DirectTest, DelaysEveryWordByTheSameTime) {
  DirectClient client(server, {.delay_ms = 10, .drops_message = {}});
  client.attach(provider);
  client.send(Load{1, {}});
  loop.advance_ms(9);
  EXPECT_THAT(log, ElementsAre());
  loop.advance_ms(1);
  EXPECT_THAT(log, ElementsAre("open 1", "1 load 1"));
  gateway.stream->send(Welcome{"first"});
  loop.advance_ms(5);
  gateway.stream->send(Welcome{"second"});
  gateway.stream->close();
  loop.advance_ms(5);
  EXPECT_THAT(log, ElementsAre("open 1", "1 load 1", "close 1", "heard first"));
  loop.advance_ms(5);
  EXPECT_THAT(log, ElementsAre("open 1", "1 load 1", "close 1", "heard first", "heard second",
                               "lost: the gateway closed the stream"));
}

TEST_F(DirectTest, DropsTheMessagesThatItIsToldToDrop) {
  int asked = 0;
  DirectClient client(server, {.delay_ms = 0, .drops_message = [&] { return asked++ % 2 == 0; }});
  client.attach(provider);
  for (std::uint32_t i = 0; i < 4; ++i) client.send(Load{i, {}});
  loop.run_until_idle();
  EXPECT_THAT(log, ElementsAre("open 1", "1 load 1", "1 load 3"));
}

TEST_F(DirectTest, FindsTheGatewayThatListensNow) {
  DirectClient client(server);
  client.attach(provider);
  loop.run_until_idle();
  server.stop();
  EXPECT_THAT(log, ElementsAre("open 1", "close 1"));
  loop.run_until_idle();
  client.attach(provider);
  loop.run_until_idle();
  EXPECT_THAT(log, ElementsAre("open 1", "close 1", "lost: the gateway stopped",
                               "lost: no gateway listens"));
  Log other_log;
  Gateway other(other_log);
  server.listen(other);
  client.attach(provider);
  loop.run_until_idle();
  EXPECT_THAT(other_log, ElementsAre("open 1"));
  server.stop();
}

TEST_F(DirectTest, ForgetsAStreamThatNeverOpened) {
  auto client = std::make_unique<DirectClient>(server);
  client->attach(provider);
  client.reset();
  loop.run_until_idle();
  EXPECT_THAT(log, ElementsAre());
}

}  // namespace
}  // namespace commensal::rpc
