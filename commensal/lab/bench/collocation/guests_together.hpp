// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/lab/bench/report.hpp>
#include <commensal/lab/bench/runtime/runner.hpp>
#include <functional>

/// Guest beside guest: two runs of a network at the same time, one thread each, against the same
/// two one after the other, each on both threads.
namespace commensal::lab::bench::collocation {

struct GuestsOptions {
  core::Path folder;                // of MODEL.onnx
  std::vector<std::string> models;  // names without .onnx, the smallest first
  int rounds = 5;                   // of a slice of each way, in an order that changes
  double slice_s = 2;               // about so long
  /// Starts a fresh process.
  std::function<core::Result<bench::Runner>()> start;
};

struct GuestsRow {
  std::string model;
  double in_turn_per_s = 0;   // images (batch 1), median over rounds
  double together_per_s = 0;  // ... of both together
  bench::Ratio gain;          // together / in turn: median and quartiles over rounds
  double in_turn_bytes = 0;   // the most memory that one process had
  double together_bytes = 0;  // ... that both had together
};

/// Inputs are drawn as for `bench runtime`. `rng` says in which order. Errors: those of Runner,
/// with the model's name; kNotFound (a model).
core::Result<std::vector<GuestsRow>> run_guests_bench(const GuestsOptions& options, core::Rng& rng);

Report report_of(const std::vector<GuestsRow>& rows);
/// Bars of both ways, each as a share of the better one.
std::string guests_svg(const std::vector<GuestsRow>& rows);

}  // namespace commensal::lab::bench::collocation
