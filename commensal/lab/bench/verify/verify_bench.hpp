// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/report.hpp>

/// What verification costs: the provider, the auditor, the sides of a dispute; and what the same
/// requests would cost by the rules of others.
namespace commensal::lab::bench::verify {

struct VerifyBenchOptions {
  core::Path resnet;   // ONNX files: ResNet-50, to which the limits belong
  core::Path encoder;  // and a BERT-like encoder; empty: left out
  core::Path folder;   // for the provider's state, on the disk that is to be measured
  int rounds = 15;     // of each measurement
  int disputes = 12;   // of each network, about operators all over it
  std::uint64_t seed = 1;
};

/// All rows. Times are processor time of one thread, shares are of plain execution measured in
/// turn in the same run. Errors: those of the models, the store and the parties.
core::Result<Report> run_verify_bench(const VerifyBenchOptions& options, const core::Clock& clock);

}  // namespace commensal::lab::bench::verify
