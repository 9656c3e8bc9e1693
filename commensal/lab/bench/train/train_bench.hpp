// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/report.hpp>

/// A step of training beside PyTorch's: forward, backward and AdamW, on one thread.
namespace commensal::lab::bench::train {

struct TrainBenchOptions {
  core::Path gpt;                 // as models/gpt writes it
  core::Path resnet18;            // as models/classic does
  std::vector<std::string> peer;  // the command of tests/peer/train_pytorch.py
  core::Path folder;              // for batches
  int rounds = 9;                 // of each network
};

/// Both sides begin with the same weights and train on the same batch, in turn, some steps a round;
/// where the losses of their first steps differ by more than roundings do, nothing is said of
/// their time. The ratios are of processor time, as both have one thread: what else the machine
/// does does not count. Errors: those of sessions, of files and of the peer.
core::Result<Report> run_train_bench(const TrainBenchOptions& options, const core::Clock& clock);

}  // namespace commensal::lab::bench::train
