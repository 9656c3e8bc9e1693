// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <string>
#include <vector>

namespace commensal::apps {

/// Where a bench of hosts beside guests finds both.
struct BenchPlace {
  std::string models_dir;
  std::string hosts_dir;
  bool json = false;

  void declare(CLI::App& app);
  /// Exports the networks that are missing. Errors: those of export_missing().
  core::Result<lab::bench::collocation::Place> find(const std::vector<std::string>& networks) const;
};

}  // namespace commensal::apps
