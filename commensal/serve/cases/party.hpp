// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <commensal/verify/rollout/engine.hpp>
#include <functional>
#include <stop_token>
#include <vector>

namespace commensal::cases {

/// An accusation as its parties know it.
struct Case {
  ledger::CaseKey key;
  ledger::Dispute dispute;
  ledger::CaseStatus status = ledger::CaseStatus::kAccused;
  std::vector<ledger::Arbiter::Said> moves;  // all so far
};

/// Whether it is this side's turn: who is accused contests or concedes, then who owes a move moves.
bool has_turn(const Case& at, arbiter::Side side, const ledger::Arbiter& arbiter);

/// Plays sides of cases by engines of their models. It may run a model: for off the loop.
/// Thread-safety: one thread at a time.
class Party {
 public:
  /// The engine for this job, whose model's file is `model`, until it is asked for another.
  using Engines = std::function<core::Result<rollout::Engine*>(
      const protocol::Job& job, const core::Path& model, const std::stop_token& cancel)>;
  explicit Party(Engines engines) : engines_(std::move(engines)) {}

  /// What this side says next: an accused provider contests where it gets the outputs that it
  /// signed when it computes the step again, and concedes where it does not (cards do flip bits).
  /// `task` is that step, `model` its file. A case takes a run of the model or two, again where its
  /// engine has played another meanwhile, or was dropped. Precondition: has_turn().
  /// Errors: kDataLoss (not what this side, or both, have signed), receipt::step_inputs()', those
  /// of the engines and of Engine::argue.
  core::Result<ledger::Body> next(const Case& at, arbiter::Side side, const receipt::StepTask& task,
                                  const core::Path& model, const crypto::SecretKey& key,
                                  const graph::RunOptions& options = {});

 private:
  Engines engines_;
};

}  // namespace commensal::cases
