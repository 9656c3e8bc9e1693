// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <apps/common/backend_options.hpp>
#include <commensal/collocation/tuner/ways.hpp>
#include <map>
#include <string>
#include <vector>

namespace commensal::apps {

/// `provider tune`: tries ways of running models beside a host, and keeps for each the one that is
/// shown to be worth most.
struct TuneOptions {
  std::string host;
  std::vector<std::string> models;
  std::string folder;  // of the provider, whose cached models are tuned where none are named
  BackendOptions backend;
  int at_once_max = 16;
  int rounds = 24;
  double stretch_s = 1.8;
  bool json = false;

  CLI::App* declare(CLI::App& provider);
  core::Result<int> run() const;
};

/// By model, as they were tuned beside this host of this machine; "auto": beside the last one.
/// Error: kDataLoss.
core::Result<std::map<core::Digest, tuner::Way>> tuned_ways(const std::string& host);

}  // namespace commensal::apps
