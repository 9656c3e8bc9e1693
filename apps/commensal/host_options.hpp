// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/collocation/guest/guest_client.hpp>
#include <commensal/collocation/guest/keeper.hpp>
#include <commensal/serve/provider/engine.hpp>
#include <memory>
#include <optional>
#include <string>

namespace commensal::apps {

/// What a spec stands for: itself, or for "auto" the first host that is found on this machine;
/// standard error tells what else is there. Error: kNotFound.
core::Result<std::string> choose_host(const std::string& spec, const probe::Dependencies& deps);

/// What the log says of the host now; what is not known is named so.
std::string host_line(const guest::View& now);

/// Everything that keeps a host while a guest runs in this process.
class HostKeeping {
 public:
  /// What computes for the guest: paced, and on threads that run only where nobody else wants to.
  /// Those that speak to the gateway keep their rank, or a busy machine would cut the stream.
  std::unique_ptr<provider::EngineFactory> engines(graph::SessionOptions options);
  /// What the machine's governor and its operator are told of this guest.
  void tell(const guest::Report& report) { client_->tell(report); }
  /// One line whenever the guest starts, stops or is stopped; else every `every_s`.
  void show(double every_s);
  /// Why the guest stands still, for daemon::ProviderDaemonConfig::why_paused. One thread.
  std::string why_paused();
  /// Lets the guest's threads go, so that they can end.
  void release();

 private:
  friend struct HostOptions;
  HostKeeping() = default;

  core::SystemClock clock_;
  core::SystemRng rng_;
  guest::DutyPacer pacer_;
  guest::Standstill standstill_;
  std::unique_ptr<guest::GuestClient> client_;  // last: its threads see all of the above
  bool was_stopped_ = true;
  double shown_s_ = 0;
};

/// --host and what goes with it, for commands that run guests.
struct HostOptions {
  std::string spec;  // empty: nobody is protected
  double weight = 1;
  std::uint64_t memory_bytes_max = 0;  // 0: no limit
  std::optional<double> income_per_hour{};

  void declare(CLI::App& app);
  /// Takes its place among the guests of this machine, behind everybody else; null without --host.
  /// To be called before the guest's threads are made. Errors: those of the spec; kNotFound ("auto"
  /// finds no host); those of the folder in which guests find each other; kUnavailable (a memory
  /// limit that the system does not grant).
  core::Result<std::unique_ptr<HostKeeping>> start(const std::string& name, int threads) const;
};

}  // namespace commensal::apps
