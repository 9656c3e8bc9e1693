// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/commensal/connection.hpp>
#include <apps/commensal/money_requests.hpp>
#include <commensal/serve/cases/brief.hpp>
#include <commensal/verify/rollout/replayer.hpp>

/// Accusations in a gateway's ledger, over HTTP.
namespace commensal::apps {

/// {"cases": [...]} about this receipt or report, each accuser's. Error: kNotFound (nobody has
/// accused it).
core::Result<Json> cases_of(client::Client& client, const core::Digest& subject);
/// All that there is to say of one.
void print_case(const Json& one);

/// Plays one side of cases with a key of its own, by engines of models that it keeps as files in
/// `folder`. Thread-safety: one thread.
class Litigant {
 public:
  /// `client` and `key` outlive it.
  Litigant(client::Client& client, core::Path folder, const crypto::SecretKey& key,
           std::shared_ptr<rollout::EngineFactory> engines);

  /// A case in which it is its turn: one of those in which it is accused, or that of this subject,
  /// which it has accused; none: in none. Errors: the client's, kDataLoss.
  core::Result<std::optional<cases::Brief>> next(const std::optional<core::Digest>& subject = {});
  /// What this side says next goes into the ledger. `task` is the step. Returns its name.
  /// Errors: those of cases::Party::next() and of the client.
  core::Result<std::string> answer(const cases::Brief& brief, arbiter::Side side,
                                   const receipt::StepTask& task);
  /// Into the gateway's ledger, signed by the key.
  core::Result<void> book(ledger::Body body);
  /// The file of a gateway's model, fetched where it is not kept. Error: kDataLoss (another file).
  core::Result<core::Path> model_file(const std::string& model, std::uint32_t version,
                                      const core::Digest& content);
  rollout::Replayer& replayer() { return replayer_; }

 private:
  client::Client& client_;
  core::Path folder_;
  const crypto::SecretKey& key_;
  rollout::Replayer replayer_;
  cases::Party party_;
};

}  // namespace commensal::apps
