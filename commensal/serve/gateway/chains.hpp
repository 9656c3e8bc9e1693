// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/chain_book.hpp>
#include <commensal/serve/gateway/chain_plan.hpp>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/till.hpp>
#include <commensal/verify/chain/client.hpp>

namespace commensal::gateway {

/// Of one chain's links, as far as the receipt book keeps them.
struct LinkAudits {
  std::set<std::uint64_t> open;  // drawn and not done
  std::uint64_t matched = 0;
  std::set<std::uint64_t> mismatches;
};

/// How a chain stands.
struct ChainStatus {
  ChainEntry entry;
  std::uint64_t links = 0;    // delivered
  core::Digest final_root{};  // of the last one's outputs; zero before link 1
  LinkAudits audits;
};

/// The gateway's side of jobs whose outputs are fed back: chain::ChainClient of each, driven link
/// by link over the provider's stream. Each delivered link is a receipt in the book like any other
/// (event::Delivered). What it has signed and what was delivered is on disk before the next word,
/// so that all running chains go on after a crash of either side, by themselves. A chain stays with
/// its provider: while that is away, it waits.
/// Thread-safety: the loop's thread.
class Chains {
 public:
  using LinkId = Roster::LinkId;
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    core::Rng& rng;
    store::JointStore& store;
    const crypto::SecretKey& key;  // signs for the consumers' accounts
    crypto::Address auditor;       // of private models
    Roster& roster;
    ModelHub& hub;
    Lottery& lottery;
    ReceiptBook& book;
    Till& till;
    EventQueue& events;
    std::int64_t silence_ms_max = 0;
    std::size_t kept_max = limits::kChainsKeptMax;  // the oldest that are over make room
  };
  explicit Chains(const Dependencies& deps);

  /// Takes up the running chains; call once before the rest.
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

  void on_connected(const crypto::Address& provider);
  /// It pauses no longer.
  void on_resume(const crypto::Address& provider);
  void on_close(LinkId link);
  /// It gets no more work: its chains end here.
  void on_banned(const crypto::Address& provider, const std::string& why);
  /// An audit of one of its links was drawn, or has come to its end.
  void on_audit(const ReceiptRecord& record);
  /// Messages of providers; those about jobs that are no chains are passed over.
  void on_ready(LinkId link, const rpc::Ready& message);
  void on_commit(LinkId link, const rpc::Commit& message);
  void on_deliver(LinkId link, const rpc::Deliver& message);
  void on_refuse(LinkId link, const rpc::Refuse& message);

 private:
  enum class Phase : std::uint8_t { kAway, kStarting, kReady, kAsked };
  /// A running chain.
  struct Live {
    ChainEntry entry;
    std::optional<chain::ChainClient> client;  // once the model is imported
    LinkId link = 0;                           // of kStarting and later
    Phase phase = Phase::kAway;
    std::uint64_t words = 0;     // said so far: a deadline counts for its own only
    std::uint64_t reserved = 0;  // steps that are not paid yet (Till)
    std::string hindrance;       // why it waits, though its provider is there
  };
  using LivePtr = std::shared_ptr<Live>;
  struct Waiter {
    core::Digest chain{};
    std::function<void()> then;
  };
  core::Result<void> admit(const ChainRequest& request);
  core::Result<void> make_room();
  core::Result<crypto::Address> choose_provider(const ModelVersion& model) const;
  core::Result<ChainStatus> begin(const ChainPlan& plan,
                                  const std::shared_ptr<const graph::Graph>& graph);
  void load(const ChainEntry& entry);
  chain::ChainClient::Dependencies client_world(const ChainEntry& entry,
                                                std::shared_ptr<const graph::Graph> graph) const;
  /// The graph, off the loop; one that a live chain has is shared.
  void with_graph(const core::Digest& content,
                  std::function<void(core::Result<std::shared_ptr<const graph::Graph>>)> then);
  ChainStatus status_of(const ChainEntry& entry) const;
  const LinkAudits& audits(const core::Digest& chain) const;
  void count(const ReceiptRecord& record);

  std::vector<LivePtr> chains_of(const crypto::Address& provider) const;
  /// The live chain that this stream may speak of.
  Live* at(LinkId link, const core::Digest& chain);
  /// What is asked of a provider counts where the next job is placed.
  void set_phase(Live& live, Phase phase);
  static bool is_paused(Live& live, const Roster::Peer& peer);
  void start(Live& live);
  void ask(Live& live);
  void say(Live& live, rpc::ToProvider message);
  void watch(const Live& live);
  void retry_later(const Live& live);
  void again(Live& live, const core::Error& why);
  void fail(Live& live, ChainState state, const std::string& why);
  void finish(Live& live);
  void commit(LinkId link, const rpc::Commit::Item& item);
  /// Nothing where it cannot be paid: it is asked for again, later.
  core::Result<std::optional<ReceiptRecord>> keep_delivery(Live& live, const rpc::Deliver& message);
  void close(const ChainEntry& entry);
  void wake(const core::Digest& chain);
  /// What the next link may cost and win is there.
  core::Result<void> afford(const Live& live) const;

  Dependencies deps_;
  ChainBook book_;
  std::map<core::Digest, LinkAudits> audits_;
  std::map<core::Digest, LivePtr> live_;
  std::map<core::Digest, std::weak_ptr<const graph::Graph>> graphs_;  // by the file's content
  std::set<std::pair<std::string, std::string>> creating_;            // account, key
  std::map<std::uint64_t, Waiter> waiters_;
  std::uint64_t last_waiter_ = 0;
};

}  // namespace commensal::gateway
