// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/child_process.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/lab/hostile/attacker.hpp>
#include <commensal/serve/client/client.hpp>
#include <memory>
#include <vector>

namespace commensal::lab::hostile {

/// The daemons that are attacked, as programs: a gateway with the accounts "alice", whose model is
/// "alice/digits", "mallory" and "trudy", and two providers. They end with the object, their files
/// too. Not thread-safe.
class Fort {
 public:
  static constexpr int kTurnMsMax = 20;

  /// `program` is commensal, `model` the file of digits; `is_tls`: on all ports.
  /// Errors: those of starting, kUnavailable.
  static core::Result<std::unique_ptr<Fort>> build(const core::Path& program,
                                                   const core::Path& model, bool is_tls);

  const client::ClientOptions& alice() const { return alice_; }
  const Target& target() const { return target_; }
  /// How many of the daemons have ended.
  int fallen();
  /// Tells those that are left to end, as an operator does. How many did not, or not well.
  int end();
  /// The most memory that each has ever had, in MiB: gateway, providers.
  std::vector<double> peaks_mib() const;
  /// Lines of the daemons' logs in which a sanitizer complains.
  std::vector<std::string> complaints() const;
  /// Lines about turns of the gateway's loop above kTurnMsMax of its processor.
  std::vector<std::string> long_turns() const;

 private:
  explicit Fort(core::TemporaryFolder folder) : folder_(std::move(folder)) {}
  core::Result<void> start(const std::string& name, std::vector<std::string> command);
  std::vector<std::string> lines_with(std::initializer_list<const char*> texts) const;

  core::TemporaryFolder folder_;
  std::vector<core::ChildProcess> daemons_;
  std::string first_line_;  // of the daemon that was started last
  client::ClientOptions alice_;
  Target target_;
};

}  // namespace commensal::lab::hostile
