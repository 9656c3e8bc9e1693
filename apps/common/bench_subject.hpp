// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/lab/bench/runtime/runner.hpp>
#include <string>
#include <vector>

/// The process that `bench` starts to measure in: this very program as `bench worker`,
/// by which older builds know it too.
namespace commensal::apps {

inline constexpr const char* kSubjectWord = "worker";

/// What starts a fresh one by this command.
std::function<core::Result<lab::bench::Runner>()> subject_starter(std::vector<std::string> command);

/// No user needs it, so it is in no list.
CLI::App* declare_bench_subject(CLI::App& bench);

/// Answers on standard input and output until the input ends.
core::Result<int> run_bench_subject();

}  // namespace commensal::apps
