// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <hosts/common/rate.hpp>
#include <hosts/equihash/miner.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hosts::equihash {

/// Means over 10 seconds, a minute and a quarter of an hour; none before as much time has passed.
using Means = std::array<std::optional<double>, 3>;
Means means_of(const common::RateWindows& windows);

/// All that the programs tells of itself at one moment.
struct Status {
  MinerOptions options;
  MinerCounts counts;
  double seconds = 0;
  Means total;                 // bucket passes a second
  std::vector<Means> threads;  // the same by thread
  double highest = 0;          // of the ten-second mean so far
};

/// What xmrig answers to GET /2/summary (its doc/api/2/summary.json), with bucket passes for hashes
/// and solutions for shares.
std::string to_xmrig_summary(const Status& status);

/// The JSON that the program prints at its end.
std::string to_final_json(const MinerOptions& options, const MinerCounts& counts, double seconds);

}  // namespace hosts::equihash
