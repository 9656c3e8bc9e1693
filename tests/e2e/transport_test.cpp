// SPDX-License-Identifier: Apache-2.0
// The real programs over TLS, and what strangers at the port for providers may do.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/serve/rpc/grpc_client.hpp>
#include <commensal/serve/rpc/grpc_server.hpp>
#include <future>
#include <string>
#include <vector>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;

class Transport : public System {
 protected:
  void start_secure_gateway(const std::vector<std::string>& more = {}) {
    scheme_ = "https://";
    std::vector<std::string> arguments = {"--tls"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    start_gateway(arguments);
  }
  core::Path made(const std::string& name) const {
    std::filesystem::create_directory(folder_.at(name));
    return folder_.at(name);
  }
  std::string log_of(const std::string& name, const std::string& wanted) {
    std::string text;
    for (int tries = 0; tries < 200 && text.find(wanted) == std::string::npos; ++tries) {
      pause_ms(50);
      text = core::as_text(*core::read_file(folder_.at(name + ".log")));
    }
    return text;
  }
};

/// Dials and says nothing.
class Silent final : public rpc::ProviderPort {
 public:
  explicit Silent(std::atomic<int>& challenged) : challenged_(challenged) {}
  void on_message(rpc::ToProvider) override { ++challenged_; }
  void on_close(core::Error) override {}

 private:
  std::atomic<int>& challenged_;
};

/// A gateway of somebody else's: passes on what the honest one says to a provider that dials it,
/// and the provider's hello back, to pose as that provider there.
class Relay final : public rpc::GatewayPort {
 public:
  Relay(const core::Path& folder, const std::string& honest, bool signs_itself)
      : identity_(*tls::Identity::open_or_make(folder, {}, core::SystemClock().wall_ms())),
        honest_(rpc::make_grpc_client(loop_, honest, identity_)),
        signs_itself_(signs_itself),
        server_(*rpc::GrpcServer::start(*this, loop_, "127.0.0.1:0", identity_)) {
    loop_.start();
  }
  ~Relay() override {
    loop_.stop();
    loop_.join();
  }
  int port() const { return server_->port(); }

  StreamId on_open(std::shared_ptr<rpc::ProviderStream> stream, const rpc::Channel& channel,
                   const std::string&) override {
    provider_ = std::move(stream);
    channel_ = channel;
    honest_->attach(std::make_shared<Ear>(*this));
    return ++opened_;
  }
  void on_message(StreamId, rpc::ToGateway message) override {
    ++hellos;
    honest_->send(std::move(message));
  }
  void on_close(StreamId) override {}
  core::Result<std::string> model_path(const std::string&, const core::Digest&,
                                       const core::Digest&) override {
    return core::fail(core::ErrorCode::kNotFound, "none");
  }

  std::atomic<int> hellos = 0, welcomes = 0, dismissals = 0;

 private:
  struct Ear final : rpc::ProviderPort {
    explicit Ear(Relay& of) : relay(of) {}
    void on_message(rpc::ToProvider message) override { relay.hear(std::move(message)); }
    void on_close(core::Error) override {}
    Relay& relay;
  };
  void hear(rpc::ToProvider message) {
    welcomes += std::holds_alternative<rpc::Welcome>(message) ? 1 : 0;
    dismissals += std::holds_alternative<rpc::Dismiss>(message) ? 1 : 0;
    auto* const challenge = std::get_if<rpc::Challenge>(&message);
    if (challenge == nullptr) return;
    if (signs_itself_) {
      challenge->gateway = key_.address();
      challenge->signature =
          crypto::sign(key_, rpc::challenge_digest(challenge->nonce, key_.address(), channel_));
    }
    provider_->send(std::move(message));
  }

  core::SystemRng rng_;
  const crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  const std::shared_ptr<tls::Identity> identity_;
  core::ThreadLoop loop_;
  std::unique_ptr<rpc::GatewayClient> honest_;
  const bool signs_itself_;
  std::shared_ptr<rpc::ProviderStream> provider_;
  rpc::Channel channel_;
  StreamId opened_ = 0;
  std::unique_ptr<rpc::GrpcServer> server_;
};

// The fault: where fewer files are allowed than connections are kept, nobody made room, and silent
// ones held the port for ever.
TEST_F(Transport, WithoutFilesLeftSilentConnectionsMakeRoom) {
  start_gateway();
  constexpr rlimit kFew{200, 200};
  ASSERT_EQ(::prlimit(gateway_->pid(), RLIMIT_NOFILE, &kFew, nullptr), 0);
  std::vector<core::Descriptor> silent;
  sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(std::stoi(http_port_))};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 300; ++i) {
    silent.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(silent.back().get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  for (int i = 0; i < 4; ++i) {
    const auto answer = connect().models();
    EXPECT_TRUE(answer) << answer.error().message;
  }
}

TEST_F(Transport, ACertificateThatIsGivenIsShownOnLoopbackToo) {
  start_secure_gateway();
  gateway_->kill();
  const std::string own = folder_.at(data_);
  http_host_ = "localhost";
  start_gateway({"--tls-cert", own + "/tls-cert.pem", "--tls-key", own + "/tls-key.pem"});
  EXPECT_NE(pin_, "");
  EXPECT_TRUE(connect().live());
  scheme_ = "http://";
  const auto plain = start_provider("plain");
  EXPECT_THAT(log_of("plain", "speak TLS"), HasSubstr("does that port speak TLS (--tls)?"));
  gateway_->kill();
  start_gateway();
  const auto secure = start_provider("secure", {"--tls"});
  EXPECT_THAT(log_of("secure", "--plain"), HasSubstr("that port does not speak TLS: --plain"));
}

// In words, not in those of the layer that stumbled.
TEST_F(Transport, WhoDialsTheOthersPortIsToldSo) {
  int status = 0;
  const auto consumer = [&](const std::string& url) {
    std::vector<std::string> words = {"models", "--gateway", url, "--json"};
    if (!pin_.empty()) words.insert(words.end(), {"--pin", pin_});
    return run(words, status);
  };
  start_gateway();
  const std::string at = "127.0.0.1:" + provider_port_;
  EXPECT_THAT(consumer("http://" + at), HasSubstr(at + " is the gateway's port for providers or "
                                                       "gRPC, it seems: consumers use another "
                                                       "(8080"));
  gateway_->kill();
  start_secure_gateway();
  EXPECT_THAT(consumer("https://127.0.0.1:" + provider_port_),
              HasSubstr("if it is its port for providers: consumers use another (8080"));
  provider_port_ = http_port_;
  const auto provider = start_provider("astray");
  EXPECT_THAT(log_of("astray", "speaks HTTP"), HasSubstr("expected the port for providers, not"));
}

TEST_F(Transport, ARelayingGatewayCannotPoseAsTheProvider) {
  start_secure_gateway();
  const std::string honest = "127.0.0.1:" + provider_port_;
  {
    Relay relay(made("honest"), honest, false);
    provider_port_ = std::to_string(relay.port());
    const auto provider = start_provider("wary");
    EXPECT_THAT(log_of("wary", "has not the key"), HasSubstr("has not the key of " + gateway_key_));
    EXPECT_EQ(relay.hellos, 0);
  }
  Relay relay(made("own"), honest, true);
  provider_port_ = std::to_string(relay.port());
  const auto provider = start_provider("trusting");
  for (int tries = 0; tries < 200 && relay.dismissals == 0; ++tries) pause_ms(50);
  EXPECT_GT(relay.hellos, 0);
  EXPECT_GT(relay.dismissals, 0);
  EXPECT_EQ(relay.welcomes, 0);
}

TEST_F(Transport, ServesOverTls) {
  start_secure_gateway();
  auto client = connect();
  push(client);
  const auto provider = start_provider("one", {"--gateway-key", gateway_key_});
  insist(client, 1);
  int status = -1;
  const auto ask = [&](const std::string& option, const std::string& value) {
    return run({"models", "--gateway", url(), "--token-file", token_file_, option, value}, status);
  };
  EXPECT_THAT(ask("--pin", pin_), HasSubstr("operator/digits"));
  EXPECT_THAT(ask("--ca", folder_.at("gateway") + "/tls-cert.pem"), HasSubstr("operator/digits"));
  ask("--pin", std::string(64, 'a'));
  EXPECT_EQ(status, 1);

  // Rotated while it serves: what is open stays, what is new is shown the new one.
  const std::string pin = run({"key", "certificate", folder_.at("gateway")}, status);
  EXPECT_EQ(status, 0);
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(client.infer("operator/digits", 0, picture(i)));
    pause_ms(100);
  }
  EXPECT_THAT(ask("--pin", pin.substr(0, 64)), HasSubstr("operator/digits"));
  ask("--pin", pin_);
  EXPECT_EQ(status, 1);
  const auto second = start_provider("two", {"--gateway-key", gateway_key_});
  EXPECT_THAT(log_of("two", "connected"), HasSubstr("connected to"));
}

TEST_F(Transport, AProviderRefusesAnotherGatewayAtTheSamePlace) {
  start_secure_gateway();
  auto provider = start_provider("one");
  EXPECT_THAT(log_of("one", "connected"), HasSubstr("connected to"));
  gateway_->signal(SIGTERM);
  gateway_->wait();
  const std::string before = gateway_key_;
  data_ = "another";
  start_secure_gateway();
  EXPECT_THAT(log_of("one", "expected 0x"),
              HasSubstr("the gateway has the key " + gateway_key_ + ", expected " + before));
  provider->kill();
  provider = start_provider("one", {"--gateway-key", gateway_key_});
  auto client = connect();
  push(client);
  insist(client, 1);
}

TEST_F(Transport, SilentStreamsLockNoProviderOut) {
  constexpr int kSilent = 1024;
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  start_gateway();
  auto client = connect();
  push(client);
  core::ThreadLoop loop;
  std::atomic<int> challenged = 0;
  std::vector<std::unique_ptr<rpc::GatewayClient>> silent;
  std::promise<void> dialled;
  loop.post([&] {
    for (int i = 0; i < kSilent; ++i) {
      silent.push_back(rpc::make_grpc_client(loop, "127.0.0.1:" + provider_port_));
      silent.back()->attach(std::make_shared<Silent>(challenged));
    }
    dialled.set_value();
  });
  loop.start();
  dialled.get_future().wait();
  for (int tries = 0; tries < 300 && challenged < limits::kNewcomersAtOnce; ++tries) pause_ms(50);
  EXPECT_GE(challenged, limits::kNewcomersAtOnce);
  EXPECT_LT(challenged, kSilent) << "the door turns most of one network away";
  const core::SystemClock clock;
  const std::int64_t since_ms = clock.wall_ms();
  const auto provider = start_provider("honest");
  insist(client, 1);
  EXPECT_LT(clock.wall_ms() - since_ms, 5'000);
  loop.stop();
  loop.join();
  silent.clear();
}

TEST_F(Transport, ListensBeyondLoopbackWithTlsOnly) {
  http_host_ = "0.0.0.0";
  start_gateway();
  EXPECT_EQ(connect().live().error().code, core::ErrorCode::kUnavailable) << "plain";
  scheme_ = "https://";
  EXPECT_TRUE(connect().live());
  gateway_.reset();
  start_gateway({"--plain"});  // told so twice
  scheme_ = "http://";
  EXPECT_TRUE(connect().live());
}

TEST_F(Transport, StopsWhileProvidersComeAndGo) {
  start_gateway();
  std::vector<std::unique_ptr<Process>> providers;
  for (int i = 0; i < 8; ++i) providers.push_back(start_provider("p" + std::to_string(i)));
  gateway_->signal(SIGTERM);
  EXPECT_EQ(gateway_->wait(), 0);
}

}  // namespace
}  // namespace commensal::e2e
