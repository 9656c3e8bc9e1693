// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/verify/spot/recheck.hpp>
#include <nlohmann/json.hpp>
#include <optional>

namespace commensal::apps {

/// --elements, --wrong-share, --miss and --beside-replay: how many elements of an answer are
/// computed again, and whether all of it is, to compare.
struct SpotOptions {
  std::uint64_t elements = 0;
  double wrong_share = 0.01;
  double miss = 0;
  bool beside_replay = false;

  void declare(CLI::App& app);
  /// How many; none: an audit in full. Error: kInvalidArgument (one option without the other, or
  /// out of range).
  core::Result<std::optional<std::uint64_t>> count() const;

 private:
  CLI::Option* elements_given_ = nullptr;
  CLI::Option* share_given_ = nullptr;
  CLI::Option* miss_given_ = nullptr;
};

/// What a spot check found, and what it cost.
struct SpotOutcome {
  spot::SpotRecheck found;
  double wrong_share = 0;
  double spot_s = 0;               // of processors
  std::optional<double> replay_s;  // of an audit in full of the same receipt
};

/// {elements, cost} as docs/http.md has them.
nlohmann::ordered_json spot_json(const receipt::Opening& opening, const SpotOutcome& outcome);
/// A line for each output, the verdict, the cost, and what would be cheaper.
void print_spot(const receipt::Opening& opening, const SpotOutcome& outcome);

}  // namespace commensal::apps
