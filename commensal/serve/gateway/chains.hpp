// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/link_auditor.hpp>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/roster.hpp>

namespace commensal::gateway {

/// What a consumer asks for: `steps` links of a model, each on the outputs of the one before.
struct ChainRequest {
  Account account;
  std::string key;  // the consumer's own name for it: the same again asks for the same chain
  std::string model;
  std::uint32_t version = 0;  // 0: the newest
  tensor::NamedTensors inputs;
  std::vector<std::pair<std::string, std::string>> feeds;  // output, input
  std::uint64_t steps = 0;
  std::optional<int> noise_exponent;  // none: without noise
  protocol::StateRule states = protocol::StateRule::kFinite;
  double audit_probability = 0;  // of each link; link 1 of 10 or more besides
};

/// How a chain stands.
struct ChainStatus {
  ChainEntry entry;
  std::uint64_t links = 0;    // delivered
  core::Digest final_root{};  // of the last one's outputs; zero before link 1
  LinkAudits audits;
};

/// The gateway's side of chains: chain::ChainClient of each, driven link by link over the
/// provider's stream, with audits of links (LinkAuditor) and tickets. What it has signed and what
/// was delivered is on disk before the next word, so that all running chains go on after a crash of
/// either side, by themselves. A chain stays with its provider: while that is away, it waits.
/// Thread-safety: the loop's thread.
class Chains {
 public:
  using LinkId = Roster::LinkId;
  struct World {
    core::Loop& loop;
    const core::Clock& clock;
    core::Rng& rng;
    store::JointStore& store;
    const crypto::SecretKey& key;      // signs for the consumers' accounts
    const crypto::SecretKey& auditor;  // signs verdicts
    Roster& roster;
    ModelHub& hub;
    Lottery& lottery;
    Bank& bank;
    protocol::Amount price;  // of a link
    std::int64_t silence_ms_max = 0;
    /// The ledger has decided about a ticket of its.
    std::function<void(const crypto::Address& provider)> on_judged;
    /// A link of its was found to be wrong.
    std::function<void(const crypto::Address& provider, const std::string& why)> on_caught;
    std::function<void(const core::Error&)> report;
  };
  explicit Chains(World world);

  /// Takes up the running chains and the audits that are due; call once before the rest.
  core::Result<void> open();

  using Created = std::function<void(core::Result<ChainStatus>)>;
  /// `done` is called once, when the chain is durable. Errors: kNotFound (model),
  /// kInvalidArgument, kUnavailable (no provider, with the reason), kResourceExhausted (bounds).
  void create(ChainRequest request, Created done);
  /// Error: kNotFound.
  core::Result<ChainStatus> status(const core::Digest& chain) const;
  /// Of an account, or of all (""), the newest first, at most `count`.
  std::vector<ChainStatus> list(const std::string& account, std::size_t count) const;
  /// What was delivered of a link. Errors: kNotFound, kDataLoss.
  core::Result<chain::LinkRecord> link(const core::Digest& chain, std::uint64_t step) const;
  core::Result<chain::ChainRecord> record(const core::Digest& chain) const;
  /// `then` is called once, as soon as a link is delivered, the chain's state or one of its audits
  /// changes, or `wait_ms` have passed. Error: kResourceExhausted.
  core::Result<void> wait(const core::Digest& chain, std::int64_t wait_ms,
                          std::function<void()> then);
  LinkAuditor& auditor() { return auditor_; }

  /// Whether a winner that is open in the ledger is a link's, and was delivered.
  bool has_winner(const core::Digest& receipt) const { return winner_of(receipt).has_value(); }
  /// It has to be audited, if it was not yet; `at_once`: by this gateway. Precondition:
  /// has_winner().
  core::Result<void> audit_winner(const core::Digest& receipt, bool at_once);

  void on_connected(const crypto::Address& provider);
  /// It pauses no longer.
  void on_resume(const crypto::Address& provider);
  void on_close(LinkId link);
  /// It gets no more work: its chains end here.
  void on_banned(const crypto::Address& provider, const std::string& why);
  void on_ready(LinkId link, const rpc::ChainReady& message);
  void on_commit(LinkId link, const rpc::ChainCommit& message);
  void on_deliver(LinkId link, const rpc::ChainDeliver& message);
  void on_refuse(LinkId link, const rpc::ChainRefuse& message);

 private:
  enum class Phase : std::uint8_t { kAway, kStarting, kReady, kAsked };
  /// A running chain.
  struct Live {
    ChainEntry entry;
    std::optional<chain::ChainClient> client;  // once the model is imported
    LinkId link = 0;                           // of kStarting and later
    Phase phase = Phase::kAway;
    std::uint64_t words = 0;  // said so far: a deadline counts for its own only
    std::string hindrance;    // why it waits, though its provider is there
  };
  using LivePtr = std::shared_ptr<Live>;
  struct Waiter {
    core::Digest chain{};
    std::function<void()> then;
  };
  struct Order;

  core::Result<std::shared_ptr<Order>> order_for(ChainRequest request);
  core::Result<ChainStatus> begin(const Order& order,
                                  const std::shared_ptr<const graph::Graph>& graph);
  void load(const ChainEntry& entry);
  chain::ChainClient::World client_world(const ChainEntry& entry,
                                         std::shared_ptr<const graph::Graph> graph) const;
  /// The graph, off the loop; one that a live chain has is shared.
  void with_graph(const core::Digest& content,
                  std::function<void(core::Result<std::shared_ptr<const graph::Graph>>)> then);
  ChainStatus status_of(const ChainEntry& entry) const;
  core::Result<LinkAuditor::Audit> show(const core::Digest& chain, std::uint64_t step) const;

  std::vector<LivePtr> chains_of(const crypto::Address& provider) const;
  /// The live chain that this stream may speak of.
  Live* at(LinkId link, const core::Digest& chain);
  static bool is_paused(Live& live, const Roster::Peer& peer);
  void start(Live& live);
  void ask(Live& live);
  void say(Live& live, rpc::ToProvider message);
  void watch(const Live& live);
  void retry_later(const Live& live);
  void again(Live& live, const core::Error& why);
  void fail(Live& live, ChainState state, const std::string& why);
  void finish(Live& live);
  core::Result<void> keep_delivery(Live& live, const rpc::ChainDeliver& message);
  void on_verdict(const core::Digest& chain, std::uint64_t step, protocol::Verdict verdict);
  void wake(const core::Digest& chain);
  /// What the next link may cost and win is there.
  core::Result<void> afford(const Live& live) const;
  void resume_winners();
  using Place = std::pair<core::Digest, std::uint64_t>;
  std::optional<Place> winner_of(const core::Digest& receipt) const;
  core::Result<std::optional<Judgement>> judge(const core::Digest& chain, std::uint64_t step,
                                               const protocol::Verdict& verdict);

  World world_;
  ChainBook book_;
  LinkAuditor auditor_;
  std::map<core::Digest, LivePtr> live_;
  std::map<core::Digest, std::weak_ptr<const graph::Graph>> graphs_;  // by the file's content
  std::set<std::pair<std::string, std::string>> creating_;            // account, key
  std::map<std::uint64_t, Waiter> waiters_;
  std::uint64_t last_waiter_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace commensal::gateway
