// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/rpc/testing/stream_worlds.hpp>
#include <future>
#include <thread>

// One suite for both twins of the stream.

namespace commensal::rpc {
namespace {

using namespace testing;

template <class Dependencies>
class StreamContract : public ::testing::Test {
 protected:
  void SetUp() override {
    on_loop([this] {
      deps = std::make_unique<Dependencies>(loop, gateway);
      client = deps->client();
    });
  }
  void TearDown() override {
    if (deps) {
      on_loop([this] {
        client.reset();
        deps->stop();
      });
    }
    loop.stop();
    loop.join();
  }
  StreamContract() { loop.start(); }

  void on_loop(const std::function<void()>& act) {
    std::promise<void> done;
    loop.post([&] {
      act();
      done.set_value();
    });
    done.get_future().wait();
  }
  std::shared_ptr<Provider> attach() {
    auto provider = std::make_shared<Provider>();
    on_loop([&] { client->attach(provider); });
    EXPECT_TRUE(provider->log.wait_for(1));  // the challenge, or the refusal
    return provider;
  }
  std::string model_file(const std::string& content) {
    const std::string path = ::testing::TempDir() + "/commensal_stream_" +
                             core::to_hex(crypto::sha256(core::as_bytes(content))).substr(0, 16);
    EXPECT_TRUE(core::write_file_atomically(path, core::as_bytes(content)));
    return path;
  }

  Gateway gateway;
  core::ThreadLoop loop;
  std::unique_ptr<Dependencies> deps;
  std::unique_ptr<GatewayClient> client;
};

class TlsWorld {
 public:
  TlsWorld(core::Loop& loop, Gateway& gateway)
      : loop_(loop), server_(*GrpcServer::start(gateway, loop, "127.0.0.1:0", identity())) {}
  std::unique_ptr<GatewayClient> client() {
    return make_grpc_client(loop_, fmt::format("127.0.0.1:{}", server_->port()), identity());
  }
  void stop() { server_->stop(); }

 private:
  std::shared_ptr<const tls::Identity> identity() {
    core::TemporaryFolder& folder = *folders_.emplace_back(core::TemporaryFolder::make("tls"));
    return *tls::Identity::open_or_make(folder.path(), {}, core::SystemClock().wall_ms());
  }

  core::Loop& loop_;
  std::deque<core::Result<core::TemporaryFolder>> folders_;
  std::unique_ptr<GrpcServer> server_;
};

using Worlds = ::testing::Types<DirectWorld, GrpcWorld, TlsWorld>;
struct WorldNames {
  template <class T>
  static std::string GetName(int) {
    if (std::is_same_v<T, TlsWorld>) return "Tls";
    return std::is_same_v<T, DirectWorld> ? "Direct" : "Grpc";
  }
};
TYPED_TEST_SUITE(StreamContract, Worlds, WorldNames);

TYPED_TEST(StreamContract, ShakesHandsInOrder) {
  const auto provider = this->attach();
  Hello hello;
  hello.name = "p";
  this->on_loop([&] { this->client->send(hello); });
  ASSERT_TRUE(provider->log.wait_for(2));
  EXPECT_THAT(provider->log.lines(), ::testing::ElementsAre("challenge", "welcome token"));
  EXPECT_THAT(this->gateway.log.lines(), ::testing::ElementsAre("1 open", "1 hello p"));
}

TYPED_TEST(StreamContract, ShowsBothEndsOneChannel) {
  const auto provider = this->attach();
  this->on_loop([this] {
    const Channel channel = this->client->channel();
    EXPECT_EQ(channel, this->gateway.channel);
    const bool has_certificates = !std::is_same_v<TypeParam, GrpcWorld>;
    EXPECT_EQ(channel.gateway != core::Digest(), has_certificates);
    EXPECT_EQ(channel.provider != core::Digest(), has_certificates);
    EXPECT_TRUE(!has_certificates || channel.gateway != channel.provider);
  });
}

TYPED_TEST(StreamContract, KeepsAThousandMessagesInOrderBothWays) {
  const auto provider = this->attach();
  constexpr int kCount = 1000;
  this->on_loop([this] {
    for (int i = 0; i < kCount; ++i) {
      this->client->send(Load{static_cast<std::uint32_t>(i), {}});
      this->gateway.streams.at(0)->send(Welcome{std::to_string(i)});
    }
  });
  ASSERT_TRUE(provider->log.wait_for(1 + kCount));
  ASSERT_TRUE(this->gateway.log.wait_for(1 + kCount));
  const auto heard = provider->log.lines();
  const auto said = this->gateway.log.lines();
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(heard.at(i + 1), fmt::format("welcome {}", i));
    ASSERT_EQ(said.at(i + 1), fmt::format("1 load {}", i));
  }
}

TYPED_TEST(StreamContract, CarriesLargeTensorsBothWays) {
  const auto provider = this->attach();
  std::vector<float> values(5'000'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const tensor::NamedTensors tensors = {
      {"x", tensor::Tensor::of<float>({5, 1000, 1000}, std::span<const float>(values))}};
  const std::string hash = core::to_hex(crypto::sha256(tensors[0].value.bytes()));
  this->on_loop([&] { this->client->send(Hello{}); });
  ASSERT_TRUE(provider->log.wait_for(2));  // welcome: before it, messages are small
  this->on_loop([&] {
    Offer offer;
    offer.job.steps = 3;
    offer.inputs = tensors;
    this->gateway.streams.at(0)->send(offer);
    this->client->send(Deliver{{}, 4, {}, tensors});
  });
  ASSERT_TRUE(provider->log.wait_for(3));
  ASSERT_TRUE(this->gateway.log.wait_for(3));
  EXPECT_EQ(provider->log.lines().at(2), "offer 3 " + hash);
  EXPECT_EQ(this->gateway.log.lines().at(2), "1 deliver 4 " + hash);
}

TYPED_TEST(StreamContract, CarriesPausesAndWithdrawals) {
  const auto provider = this->attach();
  this->on_loop([this] {
    this->client->send(Pause{"the host needs it"});
    this->gateway.streams.at(0)->send(Withdraw{{core::Digest{3}, core::Digest{5}}});
    this->client->send(Resume{});
    this->gateway.streams.at(0)->send(Withdraw{});
  });
  ASSERT_TRUE(provider->log.wait_for(3));
  ASSERT_TRUE(this->gateway.log.wait_for(3));
  const std::string five = "withdraw " + core::to_hex(core::Digest{5});
  EXPECT_THAT(provider->log.lines(), ::testing::ElementsAre("challenge", five, "withdraw"));
  EXPECT_THAT(this->gateway.log.lines(),
              ::testing::ElementsAre("1 open", "1 pause the host needs it", "1 resume"));
}

TYPED_TEST(StreamContract, CarriesPrefetchesAndWhatRoomThereIs) {
  const auto provider = this->attach();
  this->on_loop([this] {
    this->client->send(Load{2, {}, 5});
    this->gateway.streams.at(0)->send(Prefetch{core::Digest{3}, 7});
  });
  ASSERT_TRUE(provider->log.wait_for(2));
  ASSERT_TRUE(this->gateway.log.wait_for(2));
  EXPECT_EQ(provider->log.lines().at(1), "prefetch 7");
  EXPECT_EQ(this->gateway.log.lines().at(1), "1 load 2, room 5");
}

TYPED_TEST(StreamContract, CarriesReleasesAndWhatBecameOfThem) {
  const auto provider = this->attach();
  this->on_loop([this] {
    this->gateway.streams.at(0)->send(Release{{core::Digest{3}, core::Digest{4}}});
    this->client->send(Released{{{core::Digest{3}, 0}}});
  });
  ASSERT_TRUE(provider->log.wait_for(2));
  ASSERT_TRUE(this->gateway.log.wait_for(2));
  EXPECT_EQ(provider->log.lines().at(1), "release 2");
  EXPECT_EQ(this->gateway.log.lines().at(1), "1 released 1");
}

TYPED_TEST(StreamContract, CarriesWhatIsSeenOfAHost) {
  const auto provider = this->attach();
  this->on_loop([this] {
    this->client->send(HostNow{{{"sol", 2.5, 3, 7}}});
    this->client->send(HostNow{});
  });
  ASSERT_TRUE(this->gateway.log.wait_for(3));
  EXPECT_THAT(this->gateway.log.lines(),
              ::testing::ElementsAre("1 open", "1 host 2.5 sol/s", "1 no host"));
}

TYPED_TEST(StreamContract, TellsBothEndsOnceThatTheGatewayClosed) {
  const auto provider = this->attach();
  this->on_loop([&] {
    auto& stream = *this->gateway.streams.at(0);
    stream.send(Dismiss{{ErrorCode::kPermissionDenied, "goodbye"}});
    stream.close();
    stream.close();
    stream.send(Welcome{"too late"});
  });
  ASSERT_TRUE(provider->log.wait_for(3));
  ASSERT_TRUE(this->gateway.log.wait_for(2));
  this->on_loop([this] { this->client->send(Load{}); });  // dropped
  this->on_loop([this] { this->deps->stop(); });
  this->on_loop([] {});
  EXPECT_THAT(provider->log.lines(),
              ::testing::ElementsAre("challenge", "dismiss goodbye", "close unavailable"));
  EXPECT_THAT(this->gateway.log.lines(), ::testing::ElementsAre("1 open", "1 close"));
}

TYPED_TEST(StreamContract, DropsTheOldStreamWithoutAWordWhenAttachedAgain) {
  const auto first = this->attach();
  const auto second = this->attach();
  ASSERT_TRUE(this->gateway.log.wait_for(3));
  EXPECT_THAT(this->gateway.log.lines(),
              ::testing::UnorderedElementsAre("1 open", "1 close", "2 open"));
  this->on_loop([this] { this->client->send(Load{5, {}}); });
  ASSERT_TRUE(this->gateway.log.wait_for(4));
  EXPECT_EQ(this->gateway.log.lines().back(), "2 load 5");
  EXPECT_THAT(first->log.lines(), ::testing::ElementsAre("challenge"));
  EXPECT_THAT(second->log.lines(), ::testing::ElementsAre("challenge"));
}

TYPED_TEST(StreamContract, TellsTheGatewayThatAClientIsGone) {
  const auto provider = this->attach();
  this->on_loop([this] { this->client.reset(); });
  ASSERT_TRUE(this->gateway.log.wait_for(2));
  this->on_loop([this] { this->gateway.streams.at(0)->send(Welcome{"to nobody"}); });
  EXPECT_THAT(this->gateway.log.lines(), ::testing::ElementsAre("1 open", "1 close"));
  EXPECT_THAT(provider->log.lines(), ::testing::ElementsAre("challenge"));
}

TYPED_TEST(StreamContract, TellsBothEndsThatTheServerStopped) {
  const auto provider = this->attach();
  this->on_loop([this] {
    this->deps->stop();
    // Before stop() returns.
    EXPECT_THAT(this->gateway.log.lines(), ::testing::ElementsAre("1 open", "1 close"));
  });
  ASSERT_TRUE(provider->log.wait_for(2));
  EXPECT_THAT(provider->log.lines(), ::testing::ElementsAre("challenge", "close unavailable"));
  const auto late = this->attach();
  EXPECT_THAT(late->log.lines(), ::testing::ElementsAre("close unavailable"));
  EXPECT_EQ(this->gateway.log.lines().size(), 2u);
}

TYPED_TEST(StreamContract, FetchesModels) {
  const std::string content(3'500'000, 'm');
  const core::Digest model = crypto::sha256(core::as_bytes(content));
  this->gateway.models[model] = this->model_file(content);
  const std::string target = this->gateway.models[model] + ".fetched";
  this->attach();
  std::int64_t received = 0;
  const auto fetched = this->client->fetch_model("token", model, target,
                                                 [&](std::int64_t bytes) { received = bytes; });
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(this->gateway.fetched_with, this->client->channel().provider);
  EXPECT_EQ(core::as_text(*core::read_file(target)), content);
  EXPECT_EQ(received, 3'500'000);
  std::filesystem::remove(target);
  std::filesystem::remove(this->gateway.models[model]);
}

TYPED_TEST(StreamContract, RefusesModelsAndLeavesNothingBehind) {
  const core::Digest corrupted = crypto::sha256(core::as_bytes("right"));
  const core::Digest missing = crypto::sha256(core::as_bytes("missing"));
  this->gateway.models[corrupted] = this->model_file("wrong");
  this->gateway.models[missing] = this->model_file("wrong") + ".missing";
  const core::Path folder = core::Path(::testing::TempDir()) / "commensal_stream_folder";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string target = folder / "model.onnx";
  const auto fetch = [&](const char* token, const core::Digest& model, const std::string& path) {
    return this->client->fetch_model(token, model, path, [](std::int64_t) {}).error();
  };
  EXPECT_EQ(fetch("forged", corrupted, target).code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(fetch("token", core::Digest{}, target).code, ErrorCode::kNotFound);
  EXPECT_EQ(fetch("token", missing, target).code, ErrorCode::kDataLoss);
  EXPECT_EQ(fetch("token", corrupted, target).code, ErrorCode::kDataLoss);
  EXPECT_THAT(fetch("token", corrupted, target).message, ::testing::HasSubstr("SHA-256"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(fetch("token", corrupted, folder / "no" / "folder").code, ErrorCode::kDataLoss);
  this->on_loop([this] { this->deps->stop(); });
  EXPECT_EQ(fetch("token", corrupted, target).code, ErrorCode::kUnavailable);
  std::filesystem::remove_all(folder);
}

TYPED_TEST(StreamContract, ServesManyProvidersAtOnce) {
  constexpr int kProviders = 8;
  std::vector<std::unique_ptr<GatewayClient>> clients;
  std::vector<std::shared_ptr<Provider>> providers;
  this->on_loop([&] {
    for (int i = 0; i < kProviders; ++i) {
      providers.push_back(std::make_shared<Provider>());
      clients.push_back(this->deps->client());
      clients.back()->attach(providers.back());
      for (std::uint32_t j = 0; j < 50; ++j) clients.back()->send(Load{j, {}});
    }
  });
  EXPECT_TRUE(this->gateway.log.wait_for(kProviders * 51));
  this->on_loop([&] { clients.clear(); });
  EXPECT_TRUE(this->gateway.log.wait_for(kProviders * 52));
  std::map<char, std::vector<std::string>> by_stream;
  for (const std::string& line : this->gateway.log.lines())
    by_stream[line[0]].push_back(line.substr(2));
  EXPECT_EQ(by_stream.size(), static_cast<std::size_t>(kProviders));
  for (const auto& [stream, lines] : by_stream) {
    ASSERT_EQ(lines.size(), 52u);
    EXPECT_EQ(lines.front(), "open");
    for (std::size_t j = 0; j < 50; ++j) EXPECT_EQ(lines[j + 1], fmt::format("load {}", j));
    EXPECT_EQ(lines.back(), "close");
  }
}

TYPED_TEST(StreamContract, SurvivesStoppingAtAnyMoment) {
  // Messages are under way in both directions when everything is torn down.
  const auto provider = this->attach();
  this->on_loop([this] {
    for (std::uint32_t i = 0; i < 200; ++i) {
      this->client->send(Load{i, {}});
      this->gateway.streams.at(0)->send(Welcome{std::to_string(i)});
    }
    this->loop.stop();
  });
  this->loop.join();
  this->client.reset();
  this->deps->stop();
  const auto lines = this->gateway.log.lines();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "1 close"), 1);
  EXPECT_EQ(lines.back(), "1 close");
  this->deps.reset();  // so that TearDown posts nothing to a loop that is gone
}

}  // namespace
}  // namespace commensal::rpc
