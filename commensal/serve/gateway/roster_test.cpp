// SPDX-License-Identifier: Apache-2.0
// Whom the gateway takes for a provider, and who waits how long for that.
#include <gmock/gmock.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <commensal/serve/gateway/testing/heard.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;

using Stream = testing::Heard;

class RosterTest : public ::testing::Test {
 protected:
  std::pair<Roster::StreamId, std::shared_ptr<Stream>> open(Roster& roster,
                                                            const rpc::Channel& channel,
                                                            const std::string& from) {
    auto stream = std::make_shared<Stream>();
    return {roster.admit(stream, channel, from), stream};
  }
  core::Result<void> welcome(Roster& roster, Roster::StreamId id, const rpc::Hello& hello) {
    std::optional<Roster::StreamId> replaced;
    COMMENSAL_TRY(roster.welcome(id, hello, replaced));
    return {};
  }
  rpc::Hello hello(const rpc::Challenge& challenge, const rpc::Channel& channel) {
    rpc::Hello made;
    made.address = provider_.address();
    made.signature = crypto::sign(
        provider_, rpc::hello_digest(challenge.nonce, made.address, challenge.gateway, channel));
    return made;
  }

  core::SystemRng rng_;
  store::MemoryStore store_;
  crypto::SecretKey own_ = crypto::SecretKey::generate(rng_);
  crypto::SecretKey provider_ = crypto::SecretKey::generate(rng_);
  core::ManualClock clock_;
  Roster roster_{store_, rng_, own_, clock_};
  const rpc::Channel channel_{{1}, {2}};
};

TEST_F(RosterTest, ProvesItsKeyForTheChannel) {
  const auto challenge = open(roster_, channel_, "a").second->challenge();
  EXPECT_EQ(challenge.gateway, own_.address());
  const auto digest = rpc::challenge_digest(challenge.nonce, own_.address(), channel_);
  EXPECT_EQ(*crypto::recover(digest, challenge.signature), own_.address());
}

TEST_F(RosterTest, TakesAHelloForNobodyElseAndNoOtherConnection) {
  const auto [id, stream] = open(roster_, channel_, "a");
  const rpc::Challenge mine = stream->challenge();
  // A gateway that the provider dials has passed our nonce on in a challenge of its own.
  rpc::Challenge relayed = mine;
  relayed.gateway = crypto::SecretKey::generate(rng_).address();
  EXPECT_EQ(welcome(roster_, id, hello(relayed, channel_)).error().code,
            ErrorCode::kUnauthenticated);
  // Or the challenge itself, on a connection of its own.
  for (const rpc::Channel& other : {rpc::Channel{{3}, {2}}, rpc::Channel{{1}, {3}}, {}}) {
    EXPECT_EQ(welcome(roster_, id, hello(mine, other)).error().code, ErrorCode::kUnauthenticated);
  }
  EXPECT_TRUE(welcome(roster_, id, hello(mine, channel_)));
}

TEST_F(RosterTest, ASecondStreamOfAKeyClosesTheFirst) {
  const auto [first, closed] = open(roster_, channel_, "a");
  ASSERT_TRUE(welcome(roster_, first, hello(closed->challenge(), channel_)));
  roster_.at(first)->in_flight = 3;
  const auto [second, kept] = open(roster_, channel_, "a");
  ASSERT_TRUE(welcome(roster_, second, hello(kept->challenge(), channel_)));
  EXPECT_EQ(roster_.at(second)->in_flight, 0u) << "what it had in hand went with its stream";
  EXPECT_TRUE(closed->is_closed());
  EXPECT_FALSE(kept->is_closed());
  roster_.leave(first);
  EXPECT_EQ(roster_.connected(provider_.address()), kept.get());
}

TEST_F(RosterTest, WhatWasSaidOfAHostGoesWithItsStream) {
  const auto [first, closed] = open(roster_, channel_, "a");
  ASSERT_TRUE(welcome(roster_, first, hello(closed->challenge(), channel_)));
  roster_.at(first)->served = 1;
  roster_.at(first)->host = rpc::HostSeen{"sol", 2, 3};
  const auto [second, kept] = open(roster_, channel_, "a");
  ASSERT_TRUE(welcome(roster_, second, hello(kept->challenge(), channel_)));
  EXPECT_FALSE(roster_.at(second)->host);
  roster_.at(second)->host = rpc::HostSeen{"sol", 2, 3};
  roster_.leave(second);
  EXPECT_FALSE(roster_.by_address(provider_.address())->host);
}

TEST_F(RosterTest, WhoShowsNoStatementsInTimeHasNone) {
  const auto [id, stream] = open(roster_, channel_, "a");
  rpc::Hello word = hello(stream->challenge(), channel_);
  word.version = rpc::kVersion;
  ASSERT_TRUE(welcome(roster_, id, word));
  const ModelVersion model{};
  Candidate seen = roster_.candidates(model, "medical", 0, {}, 0).at(0);
  EXPECT_TRUE(seen.may_come && seen.is_unshown);
  EXPECT_EQ(seen.excluded, "has not shown its statements yet");
  EXPECT_FALSE(roster_.candidates(model, "", 0, {}, 0).at(0).is_unshown);
  roster_.at(id)->paused = "its host";  // that is no way around it
  EXPECT_TRUE(roster_.candidates(model, "medical", 0, {}, 0).at(0).is_unshown);
  EXPECT_TRUE(roster_.end_statements_wait(id));
  EXPECT_FALSE(roster_.end_statements_wait(id));
  seen = roster_.candidates(model, "medical", 0, {}, 0).at(0);
  EXPECT_FALSE(seen.may_come || seen.is_unshown);
  EXPECT_THAT(seen.excluded, ::testing::HasSubstr("has no statement of class 'medical'"));
  EXPECT_FALSE(roster_.at(id)->has_shown) << "it may yet";
  EXPECT_FALSE(roster_.end_statements_wait(id + 1)) << "nobody's";
}

TEST_F(RosterTest, NewKeysTakeNobodysPlaceWhoServes) {
  const auto [id, served] = open(roster_, channel_, "a");
  ASSERT_TRUE(welcome(roster_, id, hello(served->challenge(), channel_)));
  roster_.at(id)->served = 1;
  const crypto::Address known = provider_.address();
  for (int i = 0; i < limits::kProvidersMax + 100; ++i) {
    provider_ = crypto::SecretKey::generate(rng_);
    const auto [stranger, stream] = open(roster_, channel_, std::to_string(i));
    ASSERT_TRUE(welcome(roster_, stranger, hello(stream->challenge(), channel_))) << i;
  }
  EXPECT_FALSE(served->is_closed());
  EXPECT_NE(roster_.connected(known), nullptr);
}

TEST_F(RosterTest, NobodyMakesRoomForWhoIsBanned) {
  ASSERT_TRUE(roster_.ban(provider_.address(), "was caught"));
  crypto::SecretKey banned = std::move(provider_);
  std::vector<std::shared_ptr<Stream>> new_ones;
  for (int i = 0; i < limits::kProvidersMax; ++i) {
    provider_ = crypto::SecretKey::generate(rng_);
    const auto [id, stream] = open(roster_, channel_, std::to_string(i));
    ASSERT_TRUE(welcome(roster_, id, hello(stream->challenge(), channel_)));
    new_ones.push_back(stream);
  }
  provider_ = std::move(banned);
  const auto [id, stream] = open(roster_, channel_, "b");
  EXPECT_EQ(welcome(roster_, id, hello(stream->challenge(), channel_)).error().code,
            ErrorCode::kPermissionDenied);
  EXPECT_FALSE(std::ranges::any_of(new_ones, &Stream::is_closed));
}

TEST_F(RosterTest, WhoHasServedBeforeAStartIsNoNewcomer) {
  roster_.remember(provider_.address(), 1);
  const auto [id, known] = open(roster_, channel_, "a");
  ASSERT_TRUE(welcome(roster_, id, hello(known->challenge(), channel_)));
  for (int i = 0; i <= limits::kProvidersMax; ++i) {
    provider_ = crypto::SecretKey::generate(rng_);
    const auto [stranger, stream] = open(roster_, channel_, std::to_string(i));
    ASSERT_TRUE(welcome(roster_, stranger, hello(stream->challenge(), channel_))) << i;
  }
  EXPECT_FALSE(known->is_closed());
}

TEST_F(RosterTest, SilentStreamsLockNobodyOut) {
  for (const std::string from : {"10.0.0.1", "10.0.0.2"}) {  // the attacker's, and then the same
    std::size_t open_streams = 0;
    std::vector<std::shared_ptr<Stream>> silent;
    for (int i = 0; i < 1024; ++i) silent.push_back(open(roster_, channel_, "10.0.0.2").second);
    for (const auto& stream : silent) open_streams += stream->is_closed() ? 0 : 1;
    EXPECT_LE(open_streams, limits::kStrangersPerAddressMax);
    const auto [id, stream] = open(roster_, channel_, from);
    EXPECT_TRUE(welcome(roster_, id, hello(stream->challenge(), channel_)));
    EXPECT_FALSE(stream->is_closed());
    // Known now: no number of strangers takes its place.
    for (int i = 0; i < 1024; ++i) open(roster_, channel_, from);
    EXPECT_FALSE(stream->is_closed());
    EXPECT_NE(roster_.at(id), nullptr);
  }
}

TEST_F(RosterTest, TheAddressWithTheMostStrangersMakesRoom) {
  const auto honest = open(roster_, channel_, "honest");
  std::vector<std::shared_ptr<Stream>> silent;
  for (int i = 0; i < 1024; ++i) {
    silent.push_back(open(roster_, channel_, fmt::format("bot {}", i % 32)).second);
  }
  std::size_t open_streams = 0;
  for (const auto& stream : silent) open_streams += stream->is_closed() ? 0 : 1;
  EXPECT_LE(open_streams, limits::kStrangersMax);
  EXPECT_TRUE(welcome(roster_, honest.first, hello(honest.second->challenge(), channel_)));
}

TEST_F(RosterTest, StrangersMaySayLittle) {
  const auto talker = open(roster_, channel_, "a");
  const auto known = open(roster_, channel_, "a");
  ASSERT_TRUE(welcome(roster_, known.first, hello(known.second->challenge(), channel_)));
  for (std::size_t i = 0; i < limits::kStrangerWordsMax; ++i) {
    EXPECT_FALSE(roster_.is_heard(talker.first));
    EXPECT_FALSE(talker.second->is_closed());
  }
  EXPECT_FALSE(roster_.is_heard(talker.first));
  EXPECT_TRUE(talker.second->is_closed());
  EXPECT_FALSE(roster_.is_heard(talker.first)) << "it has left";
  for (std::size_t i = 0; i < 2 * limits::kStrangerWordsMax; ++i) {
    EXPECT_TRUE(roster_.is_heard(known.first));
  }
  EXPECT_FALSE(known.second->is_closed());
}

TEST_F(RosterTest, EndsTheWaitForAHello) {
  const auto silent = open(roster_, channel_, "a");
  const auto known = open(roster_, channel_, "a");
  ASSERT_TRUE(welcome(roster_, known.first, hello(known.second->challenge(), channel_)));
  roster_.end_wait(silent.first);
  roster_.end_wait(known.first);
  EXPECT_TRUE(silent.second->is_closed());
  EXPECT_FALSE(known.second->is_closed());
  EXPECT_EQ(
      welcome(roster_, silent.first, hello(silent.second->challenge(), channel_)).error().code,
      ErrorCode::kFailedPrecondition);
}

TEST_F(RosterTest, AModelIsFetchedWithTheCertificateOfTheStream) {
  const auto [id, stream] = open(roster_, channel_, "a");
  ASSERT_TRUE(welcome(roster_, id, hello(stream->challenge(), channel_)));
  const std::string token = stream->all<rpc::Welcome>().at(0).session_token;
  roster_.grant(id, core::Digest{7});
  EXPECT_TRUE(roster_.may_fetch(token, core::Digest{7}, channel_.provider));
  EXPECT_EQ(roster_.may_fetch(token, core::Digest{7}, core::Digest{3}).error().code,
            ErrorCode::kUnauthenticated);
}

}  // namespace
}  // namespace commensal::gateway
