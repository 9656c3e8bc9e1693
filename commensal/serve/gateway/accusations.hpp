// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/serve/cases/brief.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <commensal/verify/rollout/replayer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>

namespace commensal::gateway {

/// Where an audit has given other bits, this gateway accuses the provider in its ledger and carries
/// the dispute to its end; and whoever is accused there, by anybody, hears of it and is given what
/// it needs to answer. All that a case is lies in the ledger: after a kill it goes on from there.
/// One case at a time against a provider, unless more of its winners would be paid meanwhile.
/// Thread-safety: the loop's thread.
class Accusations {
 public:
  using Key = ledger::CaseKey;

  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    const crypto::SecretKey& key;
    const ModelHub& hub;
    ReceiptBook& book;
    Bank& bank;
    Roster& roster;
    EventQueue& events;
    std::shared_ptr<rollout::Replayer> replayer;  // used off the loop
  };
  explicit Accusations(const Dependencies& deps);
  /// What is computed now is cancelled, and so is what comes.
  void stop() { closing_.request_stop(); }

  /// At a start: goes on with what is pending.
  void open();
  /// An audit of this receipt has given other bits: against its provider.
  void bring(const ReceiptRecord& record);
  /// Against the auditor who confirmed it, once its provider is convicted.
  void bring_report(const ReceiptRecord& record);
  /// Something has happened in a case.
  void on_moved(const Key& key);
  /// What came of it by this stream was refused: an accused there is told again how it stands.
  void on_refused(rpc::GatewayPort::StreamId stream, const Key& key);
  /// A provider is there anew, or has shown its statements: it hears of the cases against it that
  /// it has not heard of on this stream, of those about private inputs where it may be shown them.
  void on_connected(const crypto::Address& provider);
  /// Whether it is accused, or will be: then it is heard, though it gets no work.
  bool concerns(const crypto::Address& provider) const;
  /// Of which receipts a case is pending, or to be brought, by anybody.
  std::set<core::Digest> receipts() const;
  /// For who asks: an accused that is no provider, or an accuser; nobody knows whether it is. A
  /// case in which it is its turn, of those that are wanted.
  std::optional<cases::Brief> next(const crypto::Address& party, arbiter::Side side,
                                   const cases::Wanted& wanted) const;
  /// For an auditor elsewhere: a case that waits for reports, where it has made none.
  std::optional<receipt::Assignment> take(const crypto::Address& auditor) const;
  /// From time to time: what could not be done before, and whose time is over.
  void tick();
  /// Cases that are pending, or to come.
  std::size_t pending() const { return due_.size() + mine_.size(); }

 private:
  struct Material;
  using MaterialPtr = std::shared_ptr<const Material>;

  static core::Digest receipt_of(const ledger::CaseRow& row);
  bool is_kept(const core::Digest& receipt) const;
  std::optional<std::pair<ReceiptRecord, receipt::StepTask>> show(
      const core::Digest& receipt) const;
  std::optional<std::pair<ReceiptRecord, receipt::StepTask>> show(const Key& key,
                                                                  const ledger::CaseRow& row) const;
  cases::Case case_of(const Key& key, const ledger::CaseRow& row) const;
  bool is_open_winner(const core::Digest& ticket) const;
  struct Due {
    core::Digest receipt{};
    crypto::Address accused;
    std::optional<protocol::AuditReport> report = {};
    std::int64_t not_before_ms = 0;
  };
  bool must_wait(const Due& due) const;
  void pump();
  void accuse(const core::Digest& subject, const Material& material);
  core::Result<void> book(ledger::Body body);
  void put_off(const core::Digest& subject);
  void with_material(const core::Digest& receipt, std::function<void(const MaterialPtr&)> then);
  void play(const Key& key);
  void compute(const Key& key, const MaterialPtr& material);
  void say(const Key& key, core::Result<ledger::Body> body);
  void tell(const Key& key);
  bool may_show(const ReceiptRecord& record, rpc::GatewayPort::StreamId stream) const;
  void tell_on(rpc::GatewayPort::StreamId stream, const Key& key, const MaterialPtr& material);

  Dependencies deps_;
  std::map<core::Digest, Due> due_;   // by subject, to be accused
  std::set<core::Digest> preparing_;  // of these
  std::set<Key> mine_;                // pending, brought by this gateway
  std::set<Key> playing_;             // of these: a move is computed
  std::map<Key, int> failed_;         // of mine_: moves in vain
  std::uint64_t looks_again_ms_ = 0;
  struct Told {
    rpc::GatewayPort::StreamId stream = 0;
    std::size_t moves = 0;
    ledger::CaseStatus status = ledger::CaseStatus::kAccused;
  };
  std::map<Key, Told> told_;                  // to the accused, of pending cases
  std::map<core::Digest, MaterialPtr> kept_;  // by receipt, of pending cases
  std::shared_ptr<cases::Party> party_;       // off the loop
  std::stop_source closing_;
};

}  // namespace commensal::gateway
