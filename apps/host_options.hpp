// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/collocation/keeper/keeper.hpp>
#include <commensal/serve/provider/engine.hpp>
#include <memory>
#include <string>

namespace commensal::apps {

/// What a spec stands for: itself, or for "auto" the first host that is found on this machine;
/// standard error tells what else is there. Error: kNotFound.
core::Result<std::string> choose_host(const std::string& spec, const probe::World& world);

/// Everything that keeps a host while a guest runs in this process.
class HostKeeping {
 public:
  /// What computes for the guest: paced, and on threads that run only where nobody else wants to.
  /// Those that speak to the gateway keep their rank, or a busy machine would cut the link.
  std::unique_ptr<provider::EngineFactory> engines(graph::SessionOptions options);
  /// One line whenever the guest starts, stops or is stopped; else every `every_s`.
  void show(double every_s);
  /// Lets the guest's threads go, so that they can end.
  void release();
  keeper::View view() const { return threads_->view(); }

 private:
  friend struct HostOptions;
  HostKeeping() = default;

  core::SystemClock clock_;
  core::SystemRng rng_;
  actuator::DutyPacer pacer_;
  std::unique_ptr<probe::Probe> probe_;
  std::unique_ptr<keeper::KeeperThreads> threads_;  // last: its threads see all of the above
  bool was_stopped_ = true;
  double shown_s_ = 0;
};

/// --host, for commands that run guests.
struct HostOptions {
  std::string spec;  // empty: nobody is protected

  void declare(CLI::App& app);
  /// Steps back behind everybody else on this machine and begins to look at the host; null without
  /// --host. To be called before the guest's threads are made. Errors: those of the spec; kNotFound
  /// ("auto" finds no host).
  core::Result<std::unique_ptr<HostKeeping>> start() const;
};

}  // namespace commensal::apps
