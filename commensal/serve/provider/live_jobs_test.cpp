// SPDX-License-Identifier: Apache-2.0
// Jobs that are kept, between processes: refusals, and work that a late signature makes vain.
#include <gmock/gmock.h>
#include <unistd.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/serve/provider/jobs.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>

namespace commensal::provider {
namespace {

using ::testing::HasSubstr;

/// Remembers what was said, last word last.
class Listener final : public rpc::GatewayClient {
 public:
  void attach(std::shared_ptr<rpc::ProviderPort>) override {}
  void send(rpc::ToGateway message) override { said.push_back(std::move(message)); }
  rpc::Channel channel() const override { return {}; }
  core::Result<void> fetch_model(const std::string&, const core::Digest&, const std::string&,
                                 const rpc::Received&) override {
    return {};
  }
  /// The last word, if it is of this kind.
  template <class Kind>
  std::optional<Kind> last() const {
    const Kind* const word = said.empty() ? nullptr : std::get_if<Kind>(&said.back());
    return word == nullptr ? std::nullopt : std::optional<Kind>(*word);
  }
  std::vector<rpc::ToGateway> said;
};

struct SmallFactory final : rollout::EngineFactory {
  explicit SmallFactory(std::shared_ptr<const graph::Graph> graph) : graph_(std::move(graph)) {}
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path&,
                                                      const std::vector<protocol::Feed>&,
                                                      const std::stop_token&) override {
    return rollout::testing::engine_of(graph_);
  }
  std::shared_ptr<const graph::Graph> graph_;
};

class LiveJobsTest : public rollout::testing::RolloutTest {
 protected:
  static constexpr std::uint64_t kMany = 48;

  /// The provider's process: what it has in memory, on its store.
  struct Process {
    store::JointStore store;
    Holdings holdings;
    Purse purse;
    std::shared_ptr<Jobs> jobs;
    Process(LiveJobsTest& test)
        : store(test.provider_store_),
          holdings(store, [](const core::Digest&) { return false; }),
          purse({store, test.clock_, test.rng_, test.provider_key_, test.money_},
                {.stake = {}, .pay_min = {}, .hash_chain_depth = 8, .accepts_uncovered = true}),
          jobs(std::make_shared<Jobs>(
              Jobs::Dependencies{test.loop_, test.clock_, test.rng_, store, test.provider_key_,
                                 test.listener_, test.engines_, test.cache_, holdings, purse},
              Jobs::Config{.kept_max = test.kept_max_})) {}
  };

  LiveJobsTest() {
    record_.job.steps = kMany;
    record_.job.noise_anchor = rollout::noise_chain(noise_key_, kMany).anchor();
    record_.job.face_value = protocol::Amount(100);
    record_.job.win_threshold.fill(0x80);
    record_.job.valid_until_ms = 86'400'000;
    start_process();
  }
  ~LiveJobsTest() override { std::filesystem::remove_all(folder_); }

  void start_process() {
    process_ = std::make_unique<Process>(*this);
    EXPECT_TRUE(process_->purse.open());
    std::optional gateway = rpc::HashChainPosition{head_, closed_, head_.anchor};
    if (closed_ > 0) gateway->value = *hash_rollout_.reveal(closed_);
    const auto met = process_->purse.meet(gateway);
    ASSERT_TRUE(met && *met) << (met ? "no rollout" : met.error().message);
    record_.job.beacons = {protocol::beacon_id(head_, (*met)->head)};
  }
  /// The gateway closes its rounds up to this one, and the provider draws them.
  void close(std::uint64_t round) {
    closed_ = round;
    ASSERT_TRUE(process_->purse.on_reveal({round, *hash_rollout_.reveal(round)}));
  }
  core::Digest id() const { return protocol::job_id(record_.job); }
  rpc::Offer offer_of(const receipt::Begin& begin) const {
    return {record_.job,    core::Digest{1}, record_.input_salt,
            record_.inputs, begin.step,      begin.value};
  }
  /// The step that the client asks for next, by an Offer.
  void offer() { offer(*client_->begin()); }
  void offer(const receipt::Begin& begin) { say(offer_of(begin)); }
  /// The first step of a job that no client has kept.
  void offer_anew() {
    offer({id(), 1, *rollout::noise_chain(noise_key_, record_.job.steps).reveal(1)});
  }
  void start_client() {
    auto client = rollout::ClientJob::start(client_deps(client_store_), record_);
    ASSERT_TRUE(client) << client.error().message;
    client_.emplace(*std::move(client));
  }
  void start_both() {
    start_client();
    offer();
    ASSERT_TRUE(committed()) << refused();
  }
  void ask(const receipt::Begin& begin) { say(begin); }
  void say(auto message) {
    process_->jobs->handle(std::move(message));
    loop_.run_until_idle();
  }
  /// The last word, if it is a commitment.
  std::optional<rpc::Commit::Item> committed() const {
    const auto word = listener_.last<rpc::Commit>();
    return word ? std::optional(word->items.at(0)) : std::nullopt;
  }
  std::string refused() const {
    const auto word = listener_.last<rpc::Refuse>();
    return word ? word->reason.message : "";
  }
  /// The client signs the commitment that was said last, and takes what is delivered.
  bool sign() {
    const auto word = committed();
    if (!word) return false;
    const auto signature = client_->on_commit(*word);
    EXPECT_TRUE(signature) << signature.error().message;
    return show(*signature);
  }
  bool show(const receipt::Countersign& signature) {
    process_->jobs->handle(rpc::Countersign{{signature}});
    const auto word = listener_.last<rpc::Deliver>();
    if (!word) return false;
    EXPECT_TRUE(client_->on_deliver(*word));
    return true;
  }
  /// The n-th rollout of one step, whose ticket loses.
  void make_single(std::uint64_t n) {
    record_.job.steps = 1;
    record_.job.noise_anchor = rollout::noise_chain(noise_key_, 1).anchor();
    record_.job.face_value = protocol::Amount(100 + n);
    record_.job.win_threshold = {};
    record_.job.win_threshold.back() = 1;
  }
  bool step_in_time() {
    ask(*client_->begin());
    return sign();
  }
  /// The client lets the step's round pass, then begins it again.
  bool late_step() {
    const receipt::Begin begin = *client_->begin();
    ask(begin);
    const auto word = committed();
    EXPECT_TRUE(word) << refused();
    if (word) close(word->round);
    ask(begin);
    return sign();
  }
  /// It signs in time, and shows the signature when the round is drawn.
  bool step_shown_late() {
    ask(*client_->begin());
    const auto word = committed();
    EXPECT_TRUE(word) << refused();
    const auto signature = client_->on_commit(*word);
    close(word->round);
    return show(*signature);
  }
  LateSteps::Count late() { return *LateSteps(provider_store_).of(client_key_.address()); }
  std::size_t tickets() const {
    return process_->purse.tickets().in(ticket::State::kCountersigned).size();
  }

  const core::Path folder_ =
      core::Path(::testing::TempDir()) / fmt::format("provider-rollouts-{}", ::getpid());
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  Listener listener_, money_;
  SmallFactory engines_{graph_};
  ModelCache cache_ = *ModelCache::open(folder_, 1 << 20);
  beacon::HashChain hash_rollout_ = beacon::HashChain::make(rng_.next_digest(), 8);
  protocol::HashChainHead head_ = protocol::sign_hash_chain_head(
      client_key_, {{}, hash_rollout_.anchor(), hash_rollout_.rounds(), {}});
  std::uint64_t closed_ = 0;
  std::size_t kept_max_ = limits::kRolloutsKeptMax;
  std::unique_ptr<Process> process_;
  std::optional<rollout::ClientJob> client_;
};

TEST_F(LiveJobsTest, EachStepEarnsATicket) {
  start_both();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(step_in_time()) << refused();
  EXPECT_EQ(tickets(), 4u);
  EXPECT_EQ(late().late, 0u);
}

TEST_F(LiveJobsTest, TheOldestThatAreOverMakeRoomForNewOnes) {
  kept_max_ = 2;
  start_process();
  std::vector<core::Digest> ids;
  for (std::uint64_t n = 0; n < 6; ++n) {
    SCOPED_TRACE(n);
    make_single(n);
    ids.push_back(id());
    start_both();
    ASSERT_TRUE(step_in_time()) << refused();
    if (n >= 2) {
      EXPECT_FALSE(*rollout::JobRows(provider_store_, ids[n - 2]).is_there());
    }
    EXPECT_TRUE(*rollout::JobRows(provider_store_, ids[n]).is_there());
    close(client_->receipt(1)->round);
    EXPECT_EQ(tickets(), 0u);
    client_store_.clear();
  }
  EXPECT_EQ(rollout::rollouts_by_age(provider_store_)->size(), 2u);
  EXPECT_EQ(rollout::JobRows(provider_store_, ids[0]).step(1).error().code,
            core::ErrorCode::kNotFound);
}

TEST_F(LiveJobsTest, NoneGoesWhoseTicketsAreUndecidedOrThatIsAtHand) {
  kept_max_ = 1;
  start_process();
  make_single(0);
  const core::Digest first = id();
  start_both();
  ASSERT_TRUE(step_in_time()) << refused();
  make_single(1);
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("1 rollouts are kept, at most 1, and none of them is over"));
  EXPECT_TRUE(*rollout::JobRows(provider_store_, first).is_there());
  close(client_->receipt(1)->round);
  offer_anew();
  ASSERT_TRUE(committed()) << refused();
  close(committed()->round);  // never signed: its ticket is void
  make_single(2);             // the one before is at hand, and not finished
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("none of them is over"));
  start_process();  // it is not at hand, and none has ended
  offer_anew();
  EXPECT_TRUE(committed()) << refused();
}

TEST_F(LiveJobsTest, WhatDoesNotFitIsRefusedByName) {
  ask({1, {}});
  EXPECT_THAT(refused(), HasSubstr("the job is not at hand: offer it"));
  const auto said = listener_.said.size();
  process_->jobs->handle(rpc::Countersign{{{id(), 1, {}}}});
  EXPECT_EQ(listener_.said.size(), said);  // of a job that was withdrawn, say
  const protocol::Job job = record_.job;
  record_.job.provider = client_key_.address();
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("names another provider"));
  record_.job = job;
  record_.job.beacons = {core::Digest{9}};
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("not the beacon that we agreed on"));
  record_.job = job;
  record_.input_salt[0] ^= 1;
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("are not those that the job was made with"));
  record_.input_salt[0] ^= 1;
  start_client();
  const receipt::Begin begin = *client_->begin();
  offer({id(), 2, begin.value});
  EXPECT_THAT(refused(), HasSubstr("step 2 is begun where step 0 of 48"));
  offer({id(), 1, core::Digest{3}});
  EXPECT_THAT(refused(), HasSubstr("does not lead to the one before"));
  offer();
  ASSERT_TRUE(committed()) << refused();
  ask({id(), 2, begin.value});
  EXPECT_THAT(refused(), HasSubstr("step 2 is begun where step 1 of 48"));
  process_->jobs->handle(rpc::Countersign{{{id(), 2, {}}}});
  EXPECT_THAT(refused(), HasSubstr("step 2 is countersigned where step 1"));
  // Whoever was refused begins again, and nothing is lost.
  offer();
  ASSERT_TRUE(step_in_time()) << refused();
}

TEST_F(LiveJobsTest, ARepeatedWordHasTheSameAnswer) {
  start_both();
  const receipt::Begin begin = *client_->begin();
  ask(begin);
  const auto first = committed();
  ask(begin);
  const auto again = committed();
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->commitment, again->commitment);
  EXPECT_EQ(first->round, again->round);
  start_process();
  offer();
  ask(begin);
  ASSERT_TRUE(committed());
  EXPECT_EQ(committed()->commitment, first->commitment);
  EXPECT_TRUE(sign());
  EXPECT_EQ(tickets(), 1u);
}

TEST_F(LiveJobsTest, AJobThatIsAtWorkIsLeftAlone) {
  start_client();
  const receipt::Begin begin = *client_->begin();
  process_->jobs->handle(offer_of(begin));
  process_->jobs->handle(begin);  // the same: it has one answer
  EXPECT_TRUE(listener_.said.empty());
  process_->jobs->handle(receipt::Begin{id(), 2, {}});
  EXPECT_THAT(refused(), HasSubstr("the job is at work"));
  listener_.said.clear();
  loop_.run_until_idle();
  EXPECT_TRUE(committed());
  const auto is_commit = [](const auto& word) { return std::holds_alternative<rpc::Commit>(word); };
  EXPECT_EQ(std::ranges::count_if(listener_.said, is_commit), 1);
}

TEST_F(LiveJobsTest, ASignatureIsAnsweredOutOfTheStoreWithoutTheModel) {
  start_both();
  const auto signature = client_->on_commit(*committed());
  ASSERT_TRUE(signature);
  start_process();
  EXPECT_TRUE(show(*signature)) << refused();
  EXPECT_EQ(tickets(), 1u);
  ask(*client_->begin());  // who has not offered it on this stream
  EXPECT_THAT(refused(), HasSubstr("the job is not at hand: offer it"));
  offer();
  EXPECT_TRUE(sign()) << refused();
}

TEST_F(LiveJobsTest, WhatWasAskedForOnAnEarlierStreamIsDoneAndNotSaid) {
  start_client();
  process_->jobs->handle(offer_of(*client_->begin()));
  process_->jobs->on_connect();
  loop_.run_until_idle();
  EXPECT_FALSE(committed());
  EXPECT_EQ(*rollout::JobRows(provider_store_, id()).last(), 1u);
  offer();
  EXPECT_TRUE(sign()) << refused();
}

TEST_F(LiveJobsTest, OnlySoManyStepsAreComputedForNothing) {
  start_both();
  for (std::uint64_t i = 1; i <= limits::kLateStepsMax + 1; ++i) {  // one rollout is at hand
    ASSERT_TRUE(late_step()) << refused();
    EXPECT_EQ(late().late, i);
  }
  EXPECT_EQ(tickets(), 0u);
  EXPECT_FALSE(late_step());
  EXPECT_THAT(refused(), HasSubstr("step 4: signed too late for its ticket, as 3 steps before it"));
  EXPECT_EQ(listener_.last<rpc::Refuse>()->reason.code, core::ErrorCode::kFailedPrecondition);
  // Nor is it to be had by asking again, or by a new offer.
  ask(*client_->begin());
  EXPECT_THAT(refused(), HasSubstr("signed too late"));
  offer();
  EXPECT_THAT(refused(), HasSubstr("signed too late"));
}

TEST_F(LiveJobsTest, ASignatureThatIsShownAfterTheDrawCountsAsWell) {
  start_both();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(step_shown_late()) << refused();
  EXPECT_EQ(late().late, 3u);
  EXPECT_FALSE(step_shown_late());
  EXPECT_THAT(refused(), HasSubstr("step 4: signed too late"));
  // The refusal put the rollout aside; taking it up again changes nothing.
  EXPECT_FALSE(show(*client_->pending()));
  EXPECT_THAT(refused(), HasSubstr("step 4: signed too late"));
  EXPECT_EQ(late().late, 3u);
}

TEST_F(LiveJobsTest, ACrashOfTheProviderForgetsNothingAndIsNotHeldAgainstTheClient) {
  start_both();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(late_step()) << refused();
  // This one is begun, and late because we were gone.
  const receipt::Begin begin = *client_->begin();
  ask(begin);
  const auto word = committed();
  ASSERT_TRUE(word);
  closed_ = word->round;
  start_process();
  offer();
  ask(begin);
  ASSERT_TRUE(sign()) << refused();
  EXPECT_EQ(late().late, 3u);
  EXPECT_FALSE(late_step());
  EXPECT_THAT(refused(), HasSubstr("step 5: signed too late"));
}

TEST_F(LiveJobsTest, StepsWithTicketsMakeUpForLateOnes) {
  start_both();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(late_step()) << refused();
  for (std::uint64_t i = 0; i < limits::kStepsPerLate; ++i) {
    ASSERT_EQ(late().late, 3u);
    ASSERT_TRUE(step_in_time()) << refused();
  }
  EXPECT_EQ(late().late, 2u);
  ASSERT_TRUE(late_step()) << refused();
  EXPECT_FALSE(late_step());
  EXPECT_THAT(refused(), HasSubstr("signed too late"));
}

}  // namespace
}  // namespace commensal::provider
