// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/cases/party.hpp>
#include <commensal/serve/provider/executor.hpp>
#include <commensal/serve/provider/model_cache.hpp>
#include <commensal/serve/provider/purse.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

namespace commensal::provider {

/// What a provider does about accusations: computes the step again from what the gateway gives it,
/// contests where it gets what it signed, and carries the dispute to its end; concedes where it
/// does not. Nothing is kept here that the gateway's ledger does not have: on a new stream all of
/// it comes again. Thread-safety: the loop's thread.
class Defence final : public std::enable_shared_from_this<Defence> {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const crypto::SecretKey& key;
    std::shared_ptr<Executor> executor;  // used off the loop
    ModelCache& cache;
    Purse& purse;
    std::stop_token closing;  // what is computed is cancelled
  };
  explicit Defence(const Dependencies& deps) : deps_(deps) {}

  /// A new stream.
  void on_connect();
  void on_welcome(std::string session_token) { session_token_ = std::move(session_token); }
  void handle(rpc::Accused message);
  void handle(rpc::CaseMoves message);

  /// An accusation about an answer of this model is pending.
  bool needs(const core::Digest& model) const;
  /// Cases that are pending.
  std::size_t pending() const { return cases_.size(); }
  /// What became of the last one, or why it could not be answered; "" before any.
  const std::string& last() const { return last_; }

 private:
  using Key = ledger::CaseKey;
  struct Known {
    cases::Case at;
    core::Digest model{};
    receipt::StepTask task;
    int tries = 0;  // to answer what was said last
    /// How much the case had of its own when it said what is under way.
    std::optional<std::pair<ledger::CaseStatus, std::size_t>> said;
  };

  void answer(const Key& key);
  void retry(const Key& key);
  void say(const Key& key, core::Result<ledger::Body> body);

  Dependencies deps_;
  const cases::LedgerArbiter arbiter_;
  std::string session_token_;
  std::uint64_t stream_ = 0;
  std::map<Key, std::shared_ptr<Known>> cases_;
  std::set<Key> computing_;
  std::string last_;
};

}  // namespace commensal::provider
