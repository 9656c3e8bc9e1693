// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/serve/provider/jobs.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>

/// For tests of jobs that are kept: a provider's process, and the client of one rollout.
namespace commensal::provider::testing {

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
              Jobs::Config{.kept_max = test.kept_max_, .kept_bytes_max = test.kept_bytes_max_})) {}
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
  std::uint64_t kept_bytes_max_ = limits::kProviderRolloutBytesMax;
  std::unique_ptr<Process> process_;
  std::optional<rollout::ClientJob> client_;
};

}  // namespace commensal::provider::testing
