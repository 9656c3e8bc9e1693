// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/child_process.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/lab/hostile/attacker.hpp>
#include <commensal/lab/hostile/database.hpp>
#include <commensal/serve/client/client.hpp>
#include <map>
#include <memory>
#include <vector>

namespace commensal::lab::hostile {

/// The daemons that are attacked, as programs: a gateway with the accounts "alice", whose model is
/// "alice/digits", "mallory" and "trudy", two providers, and perhaps a second gateway that relays
/// to the first and by whose ports everybody comes. They end with the object, their files too. Not
/// thread-safe.
class Fort {
 public:
  static constexpr int kTurnMsMax = 20;

  /// `program` is commensal, `model` the file of digits. Errors: those of starting, kUnavailable.
  static core::Result<std::unique_ptr<Fort>> build(const core::Path& program,
                                                   const core::Path& model, Site site);

  const client::ClientOptions& alice() const { return alice_; }
  const Target& target() const { return target_; }
  /// How many of the daemons have ended.
  int fallen();
  /// Tells those that are left to end, as an operator does. How many did not, or not well.
  int end();
  /// The most memory that each has ever had, in MiB: "gateway", "ada", "bob" and perhaps "relay".
  std::map<std::string, double> peaks_mib() const;
  /// Lines of the daemons' logs in which a sanitizer complains.
  std::vector<std::string> complaints() const;
  /// Lines about turns of the gateway's loop above kTurnMsMax of its processor.
  std::vector<std::string> long_turns() const;

 private:
  explicit Fort(core::TemporaryFolder folder) : folder_(std::move(folder)) {}
  core::Result<void> start(const std::string& name, std::vector<std::string> command);
  core::Result<std::string> start_gateway(const core::Path& program, Site site);
  core::Result<void> start_relay(const core::Path& program);
  core::Result<void> open_accounts(client::ClientOptions options, const core::Path& model);
  std::vector<std::string> gateway_command(const core::Path& program, Site site) const;
  std::vector<std::string> lines_with(std::initializer_list<const char*> texts) const;

  core::TemporaryFolder folder_;
  std::unique_ptr<Database> database_;  // of two gateways
  std::vector<core::ChildProcess> daemons_;
  std::vector<std::string> names_;  // theirs
  client::ClientOptions alice_;
  Target target_;
};

}  // namespace commensal::lab::hostile
