// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <apps/common/backend_options.hpp>
#include <commensal/collocation/tuner/ways.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace commensal::apps {

/// `provider tune`: tries ways of running models beside a host, and keeps those that are shown to
/// be worth more than the present ones.
struct TuneOptions {
  std::string host;
  std::vector<std::string> models;
  std::string folder;  // of the provider, whose cached models are tuned where none are named
  BackendOptions backend;
  int at_once = 1;       // as the provider has it
  int at_once_max = 16;  // tried
  int rounds = 24;
  double stretch_s = 1.8;
  std::optional<double> loss_max;
  bool forget = false;
  bool json = false;
  const CLI::App* app = nullptr;

  CLI::App* declare(CLI::App& provider);
  core::Result<int> run() const;
};

/// By SHA-256 of the model's file.
using Ways = std::map<core::Digest, tuner::Way>;

/// As they were tuned beside this host of this machine; "auto": beside the only one that was there.
/// Error: kDataLoss.
core::Result<Ways> tuned_ways(const std::string& host);

}  // namespace commensal::apps
