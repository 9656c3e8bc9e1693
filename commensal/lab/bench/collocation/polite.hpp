// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/collocation/figures.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <functional>
#include <string>
#include <vector>

/// What a host loses for an image of its guest, by how the guest runs it. Stretches with the guest
/// and without it take turns, and each with it is compared with its two neighbours, so that what
/// drifts does not count; which way comes next is drawn.
namespace commensal::lab::bench::collocation {

struct PoliteOptions {
  Place place;
  std::vector<std::string> hosts = {"equihash", "streamer"};  // one thread each
  std::vector<std::string> networks = {"resnet50", "mobilenet_v2", "squeezenet1_1", "bert_l4_h256"};
  /// Those that a network does not take are left out.
  std::vector<std::int64_t> batches = {1, 4, 8, 16};
  int rounds = 15;       // stretches of each way
  double stretch_s = 2;  // each, with the guest or without it
  std::uint64_t seed = 1;
  std::function<void(const std::string& what, int done, int total)> progress = [](auto&&...) {};
};

/// One way of running a guest on a thread of its own in the idle class, at full speed.
struct PoliteRow {
  std::string host, network;
  std::int64_t batch = 1;
  int stretches = 0;
  double images_per_s = 0;  // beside the host
  Share95 loss;             // of the host's rate meanwhile, as a share
  Share95 ms_an_image;      // of the host's time: the loss divided by images_per_s
};

/// Errors: those of programs, models and probes.
core::Result<std::vector<PoliteRow>> run_polite(const PoliteOptions& options,
                                                const core::Clock& clock);
Report report_of(const std::vector<PoliteRow>& rows);

}  // namespace commensal::lab::bench::collocation
