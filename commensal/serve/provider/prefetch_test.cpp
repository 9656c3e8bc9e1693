// SPDX-License-Identifier: Apache-2.0
// Models that a provider fetches before it is asked for them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <fstream>

namespace commensal::provider {
namespace {

/// A gateway whose models have so many bytes.
class Models final : public rpc::GatewayClient {
 public:
  void attach(std::shared_ptr<rpc::ProviderPort>) override {}
  void send(rpc::ToGateway message) override {
    if (auto* const load = std::get_if<rpc::Load>(&message)) loads.push_back(std::move(*load));
  }
  rpc::Channel channel() const override { return {}; }
  core::Result<void> fetch_model(const std::string&, const core::Digest& model,
                                 const std::string& path, const rpc::Received&) override {
    fetched.push_back(model);
    std::ofstream(path) << std::string(bytes, 'x');
    return {};
  }
  std::vector<rpc::Load> loads;
  std::vector<core::Digest> fetched;
  std::size_t bytes = 400;
};

class PrefetchTest : public ::testing::Test {
 protected:
  PrefetchTest() {
    const ProviderDependencies deps{.loop = loop_,
                                    .clock = clock_,
                                    .rng = rng_,
                                    .store = store_,
                                    .key = key_,
                                    .gateway = models_,
                                    .engines = engines_,
                                    .why_paused = [this] { return paused_; }};
    provider_ = *Provider::create(deps, {.name = "p",
                                         .folder = folder_,
                                         .tasks_at_once = {},
                                         .cache_bytes_max = 1'000,
                                         .purse = {}});
  }
  ~PrefetchTest() override { std::filesystem::remove_all(folder_); }
  void welcome(std::optional<std::string> version) {
    provider_->on_message(rpc::Welcome{"token", std::move(version)});
    loop_.run_until_idle();
  }
  void prefetch(std::uint8_t model, std::uint64_t bytes = 400) {
    provider_->on_message(rpc::Prefetch{core::Digest{model}, bytes});
    loop_.run_until_idle();
  }
  const core::Path folder_ =
      core::Path(::testing::TempDir()) / fmt::format("prefetch-{}", ::getpid());
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  core::CounterRng rng_{1};
  store::MemoryStore store_;
  crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  Models models_;
  rollout::SessionEngineFactory engines_{graph::SessionOptions{}};
  std::string paused_;
  std::shared_ptr<Provider> provider_;
};

TEST_F(PrefetchTest, FetchesWhatThereIsRoomForAndSaysSo) {
  welcome(std::string(rpc::kVersion));
  ASSERT_EQ(models_.loads.size(), 1u);
  EXPECT_EQ(models_.loads.back().room_bytes, 1'000u);
  prefetch(1);
  EXPECT_EQ(models_.loads.back().cached_models, std::vector{core::Digest{1}});
  EXPECT_EQ(models_.loads.back().room_bytes, 600u);
  prefetch(1);
  prefetch(2);
  prefetch(3);
  EXPECT_EQ(models_.fetched, (std::vector{core::Digest{1}, core::Digest{2}}))
      << "neither what is there nor what another would have to go for";
  EXPECT_EQ(models_.loads.back().cached_models, (std::vector{core::Digest{1}, core::Digest{2}}));
  EXPECT_EQ(models_.loads.back().room_bytes, 200u);
}

TEST_F(PrefetchTest, WhatIsLargerThanWasSaidPushesNothingOut) {
  welcome(std::string(rpc::kVersion));
  prefetch(1);
  models_.bytes = 900;
  prefetch(2, 100);
  EXPECT_EQ(models_.loads.back().cached_models, std::vector{core::Digest{1}});
  EXPECT_EQ(models_.loads.back().room_bytes, 600u);
}

TEST_F(PrefetchTest, WhoIsAboutToStopFetchesNothing) {
  welcome(std::string(rpc::kVersion));
  provider_->retire();
  prefetch(1);
  EXPECT_EQ(models_.fetched.size(), 0u);
  EXPECT_EQ(models_.loads.back().room_bytes, 0u);
}

// Those of before would refuse the word.
TEST_F(PrefetchTest, AGatewayThatKnowsNothingOfItHearsOfNoRoom) {
  for (const std::optional<std::string>& version :
       {std::optional<std::string>(), std::optional<std::string>("0.1.1")}) {
    welcome(version);
    prefetch(1);
    for (const rpc::Load& load : models_.loads) EXPECT_EQ(load.room_bytes, std::nullopt);
  }
}

}  // namespace
}  // namespace commensal::provider
