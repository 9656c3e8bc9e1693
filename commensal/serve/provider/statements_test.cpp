// SPDX-License-Identifier: Apache-2.0
// What a provider shows of itself: to whom, and what it does not start with.
#include <gmock/gmock.h>
#include <unistd.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/provider/provider.hpp>

namespace commensal::provider {
namespace {

using ::testing::HasSubstr;

class Shown final : public rpc::GatewayClient {
 public:
  void attach(std::shared_ptr<rpc::ProviderPort>) override {}
  void send(rpc::ToGateway message) override {
    if (const auto* one = std::get_if<rpc::Statements>(&message)) statements.push_back(*one);
  }
  rpc::Channel channel() const override { return {}; }
  core::Result<void> fetch_model(const std::string&, const core::Digest&, const std::string&,
                                 const rpc::Received&) override {
    return {};
  }
  std::vector<rpc::Statements> statements;
};

class StatementsTest : public ::testing::Test {
 protected:
  ~StatementsTest() override { std::filesystem::remove_all(folder_); }
  core::Result<std::shared_ptr<Provider>> start(
      std::vector<protocol::PrivacyStatement> statements) {
    return Provider::create({.loop = loop_,
                             .clock = clock_,
                             .rng = rng_,
                             .store = store_,
                             .key = key_,
                             .gateway = shown_,
                             .engines = engines_},
                            {.name = "p",
                             .folder = folder_,
                             .tasks_at_once = {},
                             .purse = {},
                             .statements = std::move(statements)});
  }
  protocol::PrivacyStatement statement(const crypto::Address& provider, std::uint64_t until_ms) {
    protocol::PrivacyStatement made;
    made.provider = provider;
    made.privacy_class = "medical";
    made.valid_until_ms = until_ms;
    return protocol::sign_statement(auditor_, made);
  }

  const core::Path folder_ =
      core::Path(::testing::TempDir()) / fmt::format("statements-{}", ::getpid());
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  core::CounterRng rng_{1};
  store::MemoryStore store_;
  const crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey auditor_ = crypto::SecretKey::generate(rng_);
  Shown shown_;
  rollout::SessionEngineFactory engines_{graph::SessionOptions{}};
};

TEST_F(StatementsTest, AreShownToGatewaysThatReadThem) {
  const auto one = statement(key_.address(), 1'000);
  const auto provider = start({one});
  ASSERT_TRUE(provider) << provider.error().message;
  (*provider)->on_message(rpc::Welcome{"token", {}});
  (*provider)->on_message(rpc::Welcome{"token", "0.1.2"});
  EXPECT_TRUE(shown_.statements.empty()) << "those of before would end the stream";
  (*provider)->on_message(rpc::Welcome{"token", std::string(rpc::kVersion)});
  ASSERT_EQ(shown_.statements.size(), 1u);
  EXPECT_EQ(shown_.statements[0].items, std::vector{one});
}

TEST_F(StatementsTest, WhoHasNoneSaysSo) {
  (*start({}))->on_message(rpc::Welcome{"token", std::string(rpc::kVersion)});
  ASSERT_EQ(shown_.statements.size(), 1u);
  EXPECT_TRUE(shown_.statements[0].items.empty());
}

// It has other work, which needs none.
TEST_F(StatementsTest, ThatHaveEndedAreNotShown) {
  const auto first = statement(key_.address(), 1'000), second = statement(key_.address(), 2'000);
  clock_.advance_ms(1'000);
  const auto provider = start({first, second});
  ASSERT_TRUE(provider) << provider.error().message;
  const auto shown = [&] {
    shown_.statements.clear();
    (*provider)->on_message(rpc::Welcome{"token", std::string(rpc::kVersion)});
    return shown_.statements.at(0).items;
  };
  EXPECT_EQ(shown(), std::vector{second});
  clock_.advance_ms(1'000);
  EXPECT_TRUE(shown().empty());
}

TEST_F(StatementsTest, WhatNoGatewayWouldBelieveEndsTheStart) {
  clock_.advance_ms(1'000);
  EXPECT_THAT(start({statement(auditor_.address(), 2'000)}).error().message,
              HasSubstr("of class 'medical' is of provider 0x"));
  auto bent = statement(key_.address(), 2'000);
  ++bent.valid_until_ms;
  EXPECT_THAT(start({bent}).error().message, HasSubstr("recovers to"));
}

}  // namespace
}  // namespace commensal::provider
