// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/lab/bench/report.hpp>
#include <commensal/lab/bench/verify/verify_bench.hpp>
#include <functional>

namespace commensal::lab::bench::verify {

/// A network and one request of it.
struct Subject {
  std::string name;
  std::shared_ptr<const graph::Graph> graph;
  std::vector<tensor::Tensor> inputs;

  /// Errors: those of the import; kUnsupported for inputs other than numbers of batch 1.
  static core::Result<Subject> load(const core::Path& model);
};

/// Processor time of this thread.
double cpu_seconds(const std::function<void()>& work);
/// The least of five, after one that does not count: how long a run takes.
double run_seconds(graph::Session& session, const Subject& subject);

// The rows, by what they are about.

/// What noise adds to a step, and a full replay by an auditor; `audit` is the latter as a share of
/// a step.
core::Result<std::vector<bench::Row>> replay_rows(const Subject& subject, int rounds,
                                                  double& audit);
/// The rules of others for the same requests, by the measured cost of a replay.
std::vector<bench::Row> rule_rows(double audit, std::uint64_t seed);
/// Disputes about operators all over the network.
core::Result<std::vector<bench::Row>> dispute_rows(const Subject& subject, int count,
                                                   std::uint64_t seed, bool has_limits);

}  // namespace commensal::lab::bench::verify
