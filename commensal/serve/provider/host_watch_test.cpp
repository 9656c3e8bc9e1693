// SPDX-License-Identifier: Apache-2.0
// What a provider shows of its host: to whom, and how often.
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/provider/provider.hpp>

namespace commensal::provider {
namespace {

class Shown final : public rpc::GatewayClient {
 public:
  void attach(std::shared_ptr<rpc::ProviderPort>) override {}
  void send(rpc::ToGateway message) override {
    if (const auto* one = std::get_if<rpc::HostNow>(&message)) hosts.push_back(one->host);
  }
  rpc::Channel channel() const override { return {}; }
  core::Result<void> fetch_model(const std::string&, const core::Digest&, const std::string&,
                                 const rpc::Received&) override {
    return {};
  }
  std::vector<std::optional<rpc::HostSeen>> hosts;
};

class HostWatchTest : public ::testing::Test {
 protected:
  ~HostWatchTest() override { std::filesystem::remove_all(folder_); }
  void start(bool shows) {
    ProviderDependencies deps{.loop = loop_,
                              .clock = clock_,
                              .rng = rng_,
                              .store = store_,
                              .key = key_,
                              .gateway = shown_,
                              .engines = engines_};
    if (shows) deps.host_now = [this] { return host_; };
    provider_ =
        *Provider::create(deps, {.name = "p", .folder = folder_, .tasks_at_once = {}, .purse = {}});
    provider_->start();
  }
  void welcome(std::optional<std::string> version) {
    provider_->on_message(rpc::Welcome{"token", std::move(version)});
  }
  void rest_words(int count) { loop_.advance_ms(count * limits::kHostWordMs); }

  const core::Path folder_ =
      core::Path(::testing::TempDir()) / fmt::format("host-watch-{}", ::getpid());
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  core::CounterRng rng_{1};
  store::MemoryStore store_;
  const crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  Shown shown_;
  rollout::SessionEngineFactory engines_{graph::SessionOptions{}};
  std::optional<rpc::HostSeen> host_ = rpc::HostSeen{"sol", 2, 3, 7};
  std::shared_ptr<Provider> provider_;
};

TEST_F(HostWatchTest, ShowsWhatChangesAndNoMore) {
  start(true);
  welcome(std::string(rpc::kVersion));
  ASSERT_EQ(shown_.hosts.size(), 1u);
  EXPECT_EQ(shown_.hosts[0], host_);
  rest_words(5);
  EXPECT_EQ(shown_.hosts.size(), 1u);
  host_->rate = 2.5;
  loop_.advance_ms(limits::kHostWordMs - 1);
  host_->rate = 2.75;
  rest_words(1);
  ASSERT_EQ(shown_.hosts.size(), 2u) << "not more often than that";
  EXPECT_EQ(shown_.hosts[1]->rate, 2.75);
  host_.reset();
  rest_words(3);
  ASSERT_EQ(shown_.hosts.size(), 3u);
  EXPECT_EQ(shown_.hosts[2], std::nullopt) << "another process governs now";
}

TEST_F(HostWatchTest, ShowsItAnewOnEachStream) {
  start(true);
  welcome(std::string(rpc::kVersion));
  provider_->on_close({core::ErrorCode::kUnavailable, "it went"});
  rest_words(5);
  EXPECT_EQ(shown_.hosts.size(), 1u) << "nobody is there";
  welcome(std::string(rpc::kVersion));
  EXPECT_EQ(shown_.hosts.size(), 2u);
}

TEST_F(HostWatchTest, ShowsNothingToWhoWouldRefuseItOrWhereItsOwnerDoesNotWantIt) {
  start(true);
  welcome({});
  welcome("0.1.4");
  rest_words(3);
  EXPECT_TRUE(shown_.hosts.empty());
  start(false);
  welcome(std::string(rpc::kVersion));
  rest_words(3);
  EXPECT_TRUE(shown_.hosts.empty());
}

// A probe's word for its unit may be anything.
TEST_F(HostWatchTest, AUnitIsAShortLine) {
  host_->unit = "a\nb" + std::string(100, 'x');
  start(true);
  welcome(std::string(rpc::kVersion));
  EXPECT_EQ(shown_.hosts.at(0)->unit, "a b" + std::string(61, 'x'));
}

}  // namespace
}  // namespace commensal::provider
