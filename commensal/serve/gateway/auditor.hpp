// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/audit_lines.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/verify/rollout/replayer.hpp>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>

namespace commensal::gateway {

/// The audits of receipts that were drawn, of all jobs alike, all from the gateway's own copy, so
/// that no provider evades an audit by being away. Those of jobs whose auditors are public are
/// given to auditors elsewhere: of those who have asked for work lately, to whom a draw by their
/// stakes says, and where that one does not come, or is silent, to the next of the same draw. They
/// are done here where nobody asks, after kLeasesMax who were silent, and after kAbsentMs. An
/// auditor is not believed where it accuses: a root that does not open the commitment is computed
/// again here first; nor always where it does not: the first matches of a provider and some others,
/// drawn, are too, and what it signed is kept. Each audit ends with event::Audited, or with
/// event::Unaudited where it went wrong kTriesMax times, later and later, took longer than a
/// provider may take for a step, or more operations than a replay may; that accuses nobody. What
/// the machine here lacks counts as no try for kTroubleMsMax, nor does a worker that a model brings
/// down, as long as that takes kLostMsMax in all: nobody is paid for our trouble. Here providers
/// take turns by the time that replaying them has taken: who answers what takes long delays its own
/// audits most. One that was under way at a stop is due at the next start. Thread-safety: the
/// loop's thread.
class Auditor {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    const crypto::SecretKey& key;  // signs verdicts
    const ModelHub& hub;
    ReceiptBook& book;
    EventQueue& events;
    std::shared_ptr<rollout::EngineFactory> engines;  // used off the loop
    core::Rng& rng;
    double recheck_probability = 0;  // of a match from elsewhere
    /// How often somebody counts in a draw; nothing: everybody once.
    std::function<std::uint64_t(const crypto::Address&)> lots = {};
    /// What draws a receipt's round, if it is known; nothing: our own dice do.
    std::function<std::optional<core::Digest>(const protocol::Receipt&)> beacon = {};
  };
  explicit Auditor(const Dependencies& deps);
  /// What is replayed now is cancelled, and so is what comes: its audit stays due.
  void stop() { closing_.request_stop(); }

  /// An audit that the book has as drawn.
  void request(const core::Digest& receipt);
  /// The same, by this gateway and at once.
  void request_here(const core::Digest& receipt);
  /// For an auditor elsewhere: the next one, its own for kLeaseMs; nothing where none is open. What
  /// auditors elsewhere must not see is done here instead.
  std::optional<receipt::Assignment> take(const crypto::Address& auditor);
  /// Its answer. Precondition: its signature holds. Errors: kNotFound (no such audit is open, or
  /// it is not this auditor's), those of the book.
  core::Result<void> answer(const protocol::AuditReport& report);
  /// What it replays by, for what else is done in the lane for computing.
  const std::shared_ptr<rollout::Replayer>& replayer() const { return replayer_; }
  /// Audits that are due or under way.
  std::size_t pending() const { return open_.size(); }

 private:
  static constexpr std::int64_t kLeaseMs = 5'000;
  static constexpr std::int64_t kTrainingLeaseMs = 60'000;  // a segment is many steps
  static constexpr std::int64_t kTurnMs = 1'000;  // to come for what one was drawn for
  static constexpr int kLeasesMax = 2;            // of one audit; then it is done here
  static constexpr int kTriesMax = 3;
  static constexpr std::int64_t kRetryMs = 10'000;  // after the first; then ten times as long
  static constexpr std::int64_t kTroubleMsMax = 24 * 3'600'000, kTroubleRetryMsMax = 600'000;
  static constexpr std::int64_t kLostMsMax = 60'000;
  static constexpr std::int64_t kAbsentMs = 10'000;  // an auditor that has not asked for so long

  /// What an audit needs, from the gateway's own rows.
  struct Shown {
    ReceiptRecord record;
    receipt::Opening opening;  // read_file() has it where that is_in_file
  };
  struct Case {
    std::uint64_t lease = 0;                // to an auditor, by its number; 0: none
    crypto::Address auditor;                // who has it, or is drawn for it
    std::int64_t turn_ms = 0;               // since when; 0: nobody is
    std::optional<core::Digest> seed;       // of its draw
    std::set<crypto::Address> passed_over;  // who did not come, or was silent
    int leases = 0;
    bool is_waiting = false;   // in waiting_ or own_, or for its next try
    int tries = 0;             // in vain
    int troubles = 0;          // of our own
    std::int64_t took_ms = 0;  // all that was in vain
    std::int64_t troubled_since_ms = 0;
    std::int64_t since_ms = 0;
  };

  std::int64_t now_ms() const;
  core::Result<Shown> show(const core::Digest& receipt) const;
  core::Digest seed_of(const protocol::Receipt& receipt);
  std::optional<crypto::Address> draw(const core::Digest& receipt, Case& item);
  bool has_turn(const core::Digest& receipt, Case& item, const crypto::Address& auditor);
  static core::Result<void> read_file(const OpeningFolder& folder, Shown& shown);
  crypto::Address provider_of(const core::Digest& receipt) const;
  void end_lease(const core::Digest& receipt, std::uint64_t lease);
  /// Who is to do what waits: an auditor, soon, or this gateway.
  void pump();
  void replay(const core::Digest& receipt);
  /// Ends a replay that takes too long. One timer serves all: each would be held as long as it may
  /// take, many times a second.
  void watch();
  void fail(const core::Digest& receipt, const core::Error& error);
  /// When to try again; nothing: not any more.
  std::optional<std::int64_t> retry_ms(Case& item, core::ErrorCode code) const;
  protocol::Verdict judge(const Shown& shown, const core::Digest& root) const;
  void conclude(const core::Digest& receipt, protocol::Verdict verdict);

  Dependencies deps_;
  std::map<core::Digest, Case> open_;  // by receipt
  std::deque<core::Digest> waiting_;   // for an auditor elsewhere
  AuditLines own_;                     // to be done here
  std::uint64_t leases_ = 0;
  bool is_replaying_ = false;
  std::stop_source replay_;  // of the one at work
  std::int64_t replay_ends_ms_ = 0;
  bool is_watched_ = false;
  std::int64_t asked_ms_ = -kAbsentMs;             // when an auditor did last
  std::map<crypto::Address, std::int64_t> there_;  // when each did
  bool looks_later_ = false;
  std::shared_ptr<rollout::Replayer> replayer_;  // off the loop
  std::set<crypto::Address> confirmed_;  // providers of whom an answer was right, by our own replay
  std::stop_source closing_;
};

}  // namespace commensal::gateway
