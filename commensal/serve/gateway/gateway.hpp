// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <commensal/serve/cases/brief.hpp>
#include <commensal/serve/gateway/accounts.hpp>
#include <commensal/serve/gateway/act_log.hpp>
#include <commensal/serve/gateway/answers.hpp>
#include <commensal/serve/gateway/holders.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/invitations.hpp>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/observer.hpp>
#include <commensal/serve/gateway/quotas.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/serve/gateway/risk_facts.hpp>
#include <commensal/serve/gateway/rollouts.hpp>
#include <commensal/serve/gateway/transactions.hpp>
#include <commensal/serve/gateway/uploads.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/trade/pay/ticket/summary.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace commensal::gateway {

class Auditor;
class ClaimDesk;

struct GatewayConfig {
  core::Path folder;                     // state: models/, uploads/; the store lies beside it
  double audit_probability = 0.1;        // of a full replay, per receipt
  double recheck_probability = 0.1;      // ... again here, of what an auditor elsewhere confirms
  bool outside_auditors = false;         // of answers too: they see the inputs for public models
  bool audit_by_risk = true;             // ... or more, where the risk desk says so (AuditPolicy)
  std::int64_t silence_ms_max = 10'000;  // a provider that holds a task longer loses it
  std::int64_t pause_ms_max = 60'000;    // a request waits, in all, for providers that pause
  int tries_max = 3;                     // providers tried for one request
  std::int64_t ops_max = limits::kStepOpsMax;                // the compute budget of each step
  std::size_t rollouts_kept_max = limits::kRolloutsKeptMax;  // the oldest that are over make room
  BookLimits receipts;
  MoneyConfig money;
  QuotaConfig quotas;
  /// Test credit of who makes an account uninvited; none: nobody may.
  std::optional<protocol::Amount> open_signup;
  std::size_t open_signups_max = limits::kOpenSignUpsMax;  // such accounts, at a time
  std::size_t acts_kept_max = limits::kOperatorActsMax;    // rows of what operators did
  PrivacyAuditors::Believed privacy_auditors = {};
  /// Providers let go of private models that they had no work of for so long; 0: never.
  std::int64_t private_idle_ms = limits::kPrivateIdleMs;
};

/// The world, injected. The gateway's loop, store and key outlive it.
struct GatewayDependencies {
  core::Loop& loop;
  const core::Clock& clock;
  core::Rng& rng;
  core::Store& store;
  const crypto::SecretKey& key;  // signs for the consumers' accounts
  /// What its audits compute with: strangers' models, so that whoever serves passes a
  /// worker::ProcessEngineFactory. Not null.
  std::shared_ptr<rollout::EngineFactory> engines;
  Observer* observer = nullptr;
};

/// An account, and what it may spend for nothing.
struct NewAccount {
  std::string token;
  protocol::Amount credit;  // test money
};

struct ProviderInfo {
  crypto::Address address;
  std::string name;
  std::string state;  // "serving", or why not, in a line
  bool connected = false;
  std::string banned;  // why, or ""
  std::string paused;  // why, or ""
  std::uint32_t queued = 0;
  std::uint64_t served = 0;
  protocol::Amount stake;
  std::size_t cached_models = 0;
  double audit_probability = 0;            // of its next answer, its ticket's win apart
  PrivacyClasses privacy = {};             // that hold now
  std::optional<rpc::HostSeen> host = {};  // beside it, where its owner shows it
};

/// How fast a provider answers a model, without the way to it.
struct MeasuredSpeed {
  crypto::Address provider;
  double ms = 0;              // of one answer
  std::uint32_t answers = 0;  // that were measured
};

/// How much there is to do, and for how many.
struct Load {
  std::size_t providers_connected = 0;
  std::size_t jobs_waiting = 0;  // for a provider that is free
  std::size_t jobs_running = 0;
};

/// What this gateway knows of a provider, and what its desk makes of that.
struct ProviderRisk {
  RiskFacts facts;
  AuditTerms terms;
  bool by_risk = false;          // else the terms' floor is all
  double audit_probability = 0;  // by these facts, from now on
};

/// The gateway without its sockets: an event handler on its loop. serve/http and serve/rpc
/// call it. Thread-safety: the loop's thread, model_path excepted.
class Gateway final : public rpc::GatewayPort {
 public:
  /// Reads the state, takes up the audits that were due. Errors: kDataLoss.
  static core::Result<std::unique_ptr<Gateway>> create(const GatewayDependencies& deps,
                                                       const GatewayConfig& config);
  ~Gateway() override;

  /// `done` is called once, on the loop, after the receipt is durable. Errors: kNotFound (model),
  /// kInvalidArgument (inputs, naming the expected ones), kUnavailable (no provider, with the
  /// reason, or none that did not pause all the while; the escrow does not cover the tickets),
  /// kResourceExhausted (queues full, or the account can't pay the price).
  void infer(InferRequest request, InferDone done);
  /// What has gone wrong for good, if anything: a write that the store refused. What is in memory
  /// is ahead of it; only a new gateway on the same store goes on from what was acknowledged.
  std::optional<core::Error> failure() const;
  /// Tells `done` on the loop once all that can be read here now is durable, or will never be: what
  /// is shown before may be gone after a kill.
  void when_durable(std::function<void(const core::Result<void>&)> done);
  /// For the observer: what those who asked are told less of.
  void report(core::Error error);
  /// Why infer() would find no provider for the model now, or for a public one where it is null;
  /// "" if it would.
  std::string why_not_ready(const ModelVersion* model) const;

  const core::Clock& clock() const;
  Accounts& accounts();
  Quotas& quotas();
  /// With credit where test money is granted. Durable when it returns. Errors: Accounts::create's.
  core::Result<NewAccount> create_account(const std::string& name, Role role);
  /// A consumer's, by the code of an invitation, or without one ("") where anybody may. Durable
  /// when it returns. Errors: Accounts::create's and create_uninvited's, kPermissionDenied (the
  /// invitation, or that there is none).
  core::Result<NewAccount> sign_up(const std::string& name, std::string_view code);
  /// `terms`: as Invitations::make. Errors: its, kFailedPrecondition (credit, where no test money
  /// is granted).
  core::Result<std::string> invite(const Invitation& terms);
  Invitations& invitations();
  ActLog& acts();
  /// Runs what an operator asked for, which says in `act` what became of it; the row about that is
  /// in the same batch. Nothing of it may be acknowledged where this fails. Error: the store's.
  core::Result<void> with_act(Act& act, const std::function<void()>& run);
  /// Ends an account that has nothing left. Errors: kNotFound, kFailedPrecondition (models or money
  /// of its own, test credit apart, or an operator's: those it made must still have somebody).
  core::Result<void> remove_account(const std::string& name);
  ModelHub& hub();
  /// By address: of the providers that are known now, as far as they are measured (Speeds).
  std::vector<MeasuredSpeed> speeds(const ModelVersion& model) const;
  /// Answers of any version of the model, rollouts' steps too: those that receipts told of at the
  /// start, and since.
  std::uint64_t served(const std::string& model) const;
  /// Which providers have which models, and which of those they were asked to let go of.
  const Holders& holders() const;
  Uploads& uploads();
  Rollouts& rollouts();
  /// What audits and disputes compute is cancelled, and nothing more of it begins.
  void stop_computing();
  /// For an auditor elsewhere: a case that waits for it, or an audit; nothing where none waits.
  /// `is_ours`: the operator vouches for it. Error: kPermissionDenied (no stake).
  core::Result<std::optional<receipt::Assignment>> take_audit(const crypto::Address& auditor,
                                                              bool is_ours);
  /// For an accused that is no provider, or an accuser: a case in which it is its turn.
  std::optional<cases::Brief> next_case(const crypto::Address& party, arbiter::Side side,
                                        const cases::Wanted& wanted) const;
  /// Its answer to an audit. `is_ours`: the operator vouches for it; else it answers with a stake.
  /// Errors: kUnauthenticated, kPermissionDenied (no stake), Auditor::answer's.
  core::Result<void> answer_audit(const protocol::AuditReport& report, bool is_ours);
  ReceiptBook& receipts();
  std::vector<ProviderInfo> providers() const;
  bool is_connected(const crypto::Address& provider) const;
  /// Of requests: rollouts' steps do not count.
  Load load() const;
  /// Asks the desk about a provider, known or not.
  ProviderRisk risk(const crypto::Address& provider);
  /// What open claims are worth, and which are for sale.
  ClaimDesk& claims();
  /// Audits and re-executions that are due or under way.
  std::size_t audits_pending() const;
  /// Accusations of this gateway that are to be brought, or not yet decided.
  std::size_t accusations_pending() const;

  /// Whose rules the ledger judges cases by. Any thread.
  const ledger::Arbiter& arbiter() const;
  /// Bank::place_of.
  core::Result<std::optional<cases::Place>> dispute_place(const ledger::CaseKey& key);
  /// Money as the gateway's ledger has it.
  const ledger::State& ledger() const;
  const ticket::TicketBook& tickets() const;
  /// Tickets of providers that are there and on which nothing is decided.
  std::size_t tickets_pending() const;
  /// Whose verdicts this gateway goes by: its own auditor.
  crypto::Address auditor_address() const;
  /// Of an account of this gateway.
  crypto::Address account_address(const std::string& account) const;
  /// The operator books money that has come in; each `reference` counts once. Durable when it
  /// returns. Errors: ledger::Ledger::apply's.
  core::Result<void> deposit(const crypto::Address& owner, const protocol::Amount& amount,
                             const core::Digest& reference);
  /// Locks available money of the gateway's own: into kEscrow, kPenaltyEscrow or kCreditPool.
  core::Result<void> fund(ledger::AccountKind into, const protocol::Amount& amount);
  /// Free credit out of the pool, to spend on requests only.
  core::Result<void> grant(const crypto::Address& owner, const protocol::Amount& amount);
  /// What an account of this gateway has left is paid out: it leaves the ledger. Errors:
  /// kFailedPrecondition (it is set aside for what is under way), the ledger's.
  core::Result<void> withdraw(const std::string& account, const protocol::Amount& amount);
  /// A consumer's part of the draw of auditors, where its receipt is accused. Errors: the ledger's.
  core::Result<void> disclose(const core::Digest& receipt, const core::Digest& nonce);
  /// A transaction that its sender has signed, as the caller has checked, about money of its own,
  /// of somebody who has some here. `done` is called once, on the loop, when it is durable. Errors:
  /// kPermissionDenied (none of the above), kResourceExhausted (too many), ledger::Ledger::apply's.
  void transact(ledger::Transaction transaction, Transactions::Done done);
  /// The tickets of one provider, or of all.
  ticket::Summary ticket_summary(const std::optional<crypto::Address>& provider) const;
  const MoneyConfig& money() const;
  crypto::Address address() const;

  StreamId on_open(std::shared_ptr<rpc::ProviderStream> stream, const rpc::Channel& channel,
                   const std::string& from) override;
  void on_message(StreamId stream, rpc::ToGateway message) override;
  void on_close(StreamId stream) override;
  core::Result<std::string> model_path(const std::string& session_token, const core::Digest& model,
                                       const core::Digest& provider_certificate) override;

 private:
  struct State;
  explicit Gateway(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::gateway
