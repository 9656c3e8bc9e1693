// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/collocation/guest/guest_process.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <map>
#include <memory>
#include <string>

namespace commensal::apps {

/// --worker, for every command that serves strangers' models.
struct WorkerOptions {
  std::string where = "process";

  void declare(CLI::App& app);
  /// What runs models. `guest`, where there is one, holds them, and outlives them; `fits` as
  /// worker::ProcessOptions has them.
  std::unique_ptr<rollout::EngineFactory> engines(
      graph::SessionOptions session, guest::GuestProcess* guest = nullptr,
      std::map<core::Digest, worker::Fit> fits = {}) const;
};

/// Whether this process was started to be a worker; then it is run_worker() that does all.
bool is_worker(int argc, char** argv);
int run_worker();

}  // namespace commensal::apps
