// SPDX-License-Identifier: Apache-2.0
// Private inputs go to who is vouched for, and to nobody else, whatever happens.
#include <gmock/gmock.h>

#include <commensal/serve/gateway/testing/dispatcher_fixture.hpp>

namespace commensal::gateway {
namespace {

using testing::DispatcherOf;
using ::testing::HasSubstr;

class PrivateOrders : public DispatcherOf {
 protected:
  /// A provider that has answered before; each offer is looked at when it comes.
  struct Member final : rpc::ProviderStream {
    explicit Member(PrivateOrders& of) : test(of), key(crypto::SecretKey::generate(of.rng_)) {}
    void send(rpc::ToProvider message) override {
      if (const auto* const word = std::get_if<rpc::Challenge>(&message)) nonce = word->nonce;
      const auto* const offer = std::get_if<rpc::Offer>(&message);
      if (offer == nullptr) return;
      offers.push_back(*offer);
      test.check(*this, *offer);
    }
    void close() override {}

    PrivateOrders& test;
    crypto::SecretKey key;
    core::Digest nonce{};
    Roster::StreamId stream = 0;
    std::vector<rpc::Offer> offers;              // on this stream
    std::map<std::string, std::uint64_t> shown;  // likewise: classes, and when each ends
  };
  Member& add(std::optional<PrivacyClasses> classes) {
    auto member = std::make_shared<Member>(*this);
    dial(member, std::move(classes));
    return *members_.emplace_back(std::move(member));
  }
  void dial(const std::shared_ptr<Member>& member, std::optional<PrivacyClasses> classes) {
    member->offers.clear();
    member->shown.clear();
    member->stream = roster_.admit(member);
    say_hello(member->stream, member->key, member->nonce, rpc::kVersion);
    Roster::Peer& peer = *roster_.at(member->stream);
    EXPECT_FALSE(peer.privacy) << "what it showed on its last stream counts no longer";
    peer.health.on_answer(1);
    peer.served = 1;
    if (classes) show(*member, *std::move(classes));
    dispatcher_.on_available();
    loop_.run_until_idle();
  }
  void show(Member& member, PrivacyClasses classes) {
    member.shown = {classes.begin(), classes.end()};
    roster_.at(member.stream)->privacy = std::move(classes);
  }
  void hang_up(Member& member) {
    roster_.leave(member.stream);
    steps_.on_close(member.stream);
    dispatcher_.on_free();
    loop_.run_until_idle();
  }
  void check(const Member& member, const rpc::Offer& offer) {
    const float request = offer.inputs[0].value.data<float>()[0];
    const std::string& needed = classes_.at(static_cast<std::size_t>(request));
    if (needed.empty()) return;
    ++offers_;
    if (++tries_[request] > 1) ++moved_;
    const auto held = member.shown.find(needed);
    const bool may_see = held != member.shown.end() && wall_ms() < held->second;
    EXPECT_TRUE(may_see) << needed << " at " << wall_ms();
    EXPECT_EQ(offer.job.auditors, protocol::AuditorClass::kOwnerList);
    EXPECT_EQ(offer.job.auditor_list, std::vector{kAuditor});
  }
  void SetUp() override {
    DispatcherOf::SetUp();
    roster_.leave(stream_);  // none of these
  }
  void ask_private(const std::string& privacy_class, bool is_again = false) {
    const float value = static_cast<float>(asked_++);
    Order order;
    order.account = "alice";
    order.model.name = model_;
    order.model.content = content_;
    order.model.outputs = {{"x", {tensor::DType::kFloat32, true, {1}, {""}}}};
    order.inputs = {{"x", tensor::Tensor::of<float>({1}, std::span(&value, 1))}};
    order.privacy_class = privacy_class;
    order.is_again = is_again;
    classes_.push_back(privacy_class);
    dispatcher_.submit(std::move(order));
    loop_.run_until_idle();
  }
  std::uint64_t wall_ms() const { return static_cast<std::uint64_t>(clock_.wall_ms()); }
  void answer(Member& member, const rpc::Offer& offer) {
    inputs_ = offer.inputs;
    commit_of(member.stream, {{commit(offer.job, member.key)}});
    steps_.on_deliver(member.stream, {protocol::job_id(offer.job), 1, kSalt, offer.inputs});
    loop_.run_until_idle();
  }

  std::vector<std::string> classes_;  // by request
  std::vector<std::shared_ptr<Member>> members_;
  std::map<float, int> tries_;  // of each private request
  int offers_ = 0, moved_ = 0;  // of them all
};

TEST_F(PrivateOrders, GoToWhoIsVouchedForAndEndInALineWithout) {
  Member& seen = add(PrivacyClasses{{"medical", wall_ms() + 1'000}});
  Member& unseen = add(PrivacyClasses{{"legal", wall_ms() + 1'000}});
  for (int i = 0; i < 20; ++i) {
    ask_private("medical");
    answer(seen, seen.offers.back());
  }
  EXPECT_EQ(answers_, std::vector<bool>(20, true));
  EXPECT_EQ(seen.offers.size(), 20u);
  EXPECT_TRUE(unseen.offers.empty());
  clock_.advance_ms(1'000);
  ask_private("medical");
  EXPECT_FALSE(answers_.back());
  EXPECT_THAT(why_, HasSubstr("has no statement of class 'medical' any more"));
  EXPECT_THAT(why_, HasSubstr("has no statement of class 'medical' by an auditor"));
  EXPECT_EQ(seen.offers.size(), 20u);
}

/// Not sent away: what it shows is on its way.
TEST_F(PrivateOrders, WaitForWhoHasNotShownItsStatementsYet) {
  Member& late = add(std::nullopt);
  ask_private("medical");
  EXPECT_TRUE(answers_.empty());
  EXPECT_TRUE(late.offers.empty());
  show(late, {{"medical", wall_ms() + 1'000}});
  dispatcher_.on_available();
  loop_.run_until_idle();
  ASSERT_EQ(late.offers.size(), 1u);
  answer(late, late.offers[0]);
  ask_private("legal");
  EXPECT_EQ(answers_, (std::vector{true, false}));
}

// The fault: what a provider said of private inputs was shown to every account.
TEST_F(PrivateOrders, NobodyElseReadsWhyTheyWereRefused) {
  Member& only = add(PrivacyClasses{{"medical", wall_ms() + 60'000}});
  const auto refuse = [&](const std::string& privacy_class) {
    ask_private(privacy_class);
    steps_.on_refuse(only.stream, {protocol::job_id(only.offers.back().job),
                                   {core::ErrorCode::kUnavailable, "no room for a leg"}});
    loop_.run_until_idle();
    return roster_.at(only.stream)->refusals.why;
  };
  EXPECT_EQ(refuse("medical"), "");
  EXPECT_THAT(why_, HasSubstr("no room for a leg")) << "who has asked reads it";
  EXPECT_EQ(refuse(""), "no room for a leg");
}

TEST_F(PrivateOrders, DoNotWaitForWhoIsTooOldToShowAny) {
  const Roster::StreamId old = connect(provider_key_, std::make_shared<testing::Heard>());
  EXPECT_EQ(roster_.at(old)->privacy, PrivacyClasses());
  ask_private("medical");
  EXPECT_EQ(answers_, std::vector{false});
}

TEST_F(PrivateOrders, WaitWhereWhoIsVouchedForPausesThoughOthersAreFree) {
  Member& seen = add(PrivacyClasses{{"medical", wall_ms() + 60'000}});
  Member& unseen = add(PrivacyClasses{});
  ask_private("medical");
  ASSERT_EQ(seen.offers.size(), 1u);
  roster_.at(seen.stream)->paused = "its host";
  dispatcher_.on_pause(seen.stream);
  loop_.advance_ms(500);
  EXPECT_TRUE(unseen.offers.empty());
  EXPECT_TRUE(answers_.empty()) << "it is still there: " << why_;
  roster_.at(seen.stream)->paused.clear();
  dispatcher_.on_available();
  loop_.run_until_idle();
  answer(seen, seen.offers.back());
  EXPECT_EQ(answers_, std::vector{true});
}

// A walk through what providers do: they answer, refuse, are silent, pause, leave, come back with
// other statements; statements end. Others' requests go on meanwhile.
TEST_F(PrivateOrders, NeverReachAnybodyElseWhateverProvidersDo) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    core::CounterRng dice(100 + seed);
    const auto below = [&](std::uint64_t bound) { return dice.next_u64() % bound; };
    const auto classes = [&]() -> std::optional<PrivacyClasses> {
      if (below(5) == 0) return std::nullopt;
      PrivacyClasses made;
      if (below(2) == 0) made["medical"] = wall_ms() + below(3'000);
      if (below(3) == 0) made["legal"] = wall_ms() + below(3'000);
      return made;
    };
    while (members_.size() < 5) add(classes());
    for (int turn = 0; turn < 400; ++turn) {
      const std::shared_ptr<Member> member = members_[below(members_.size())];
      Member& one = *member;
      Roster::Peer* const peer = roster_.at(one.stream);
      const auto all = one.offers;  // it grows meanwhile
      switch (below(10)) {
        case 0:
        case 1:
        case 2:
          ask_private(below(3) == 0 ? "" : below(2) == 0 ? "medical" : "legal", below(6) == 0);
          break;
        case 3:
        case 4:
          if (peer != nullptr && !all.empty()) answer(one, all[below(all.size())]);
          break;
        case 5:
          if (peer == nullptr || all.empty()) break;
          steps_.on_refuse(one.stream, {protocol::job_id(all.back().job),
                                        {core::ErrorCode::kUnavailable, "not now"}});
          break;
        case 6:
          if (peer == nullptr) break;
          peer->paused = peer->paused.empty() ? "its host" : "";
          peer->paused.empty() ? dispatcher_.on_available() : dispatcher_.on_pause(one.stream);
          break;
        case 7:
          peer != nullptr ? hang_up(one) : dial(member, classes());
          break;
        case 8:
          if (peer != nullptr) show(one, classes().value_or(PrivacyClasses()));
          dispatcher_.on_available();
          break;
        default:
          break;
      }
      loop_.advance_ms(static_cast<std::int64_t>(below(200)));  // now and then one is silent
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", turn " << turn;
    }
  }
  EXPECT_GT(offers_, 200);
  EXPECT_GT(moved_, 20) << "some were tried again elsewhere";
}

}  // namespace
}  // namespace commensal::gateway
