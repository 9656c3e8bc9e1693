// SPDX-License-Identifier: Apache-2.0
#include <apps/common/bench_subject.hpp>
#include <commensal/lab/bench/runtime/serve.hpp>
#include <iostream>
#include <utility>

namespace commensal::apps {

using core::Result;

std::function<Result<lab::bench::Runner>()> subject_starter(std::vector<std::string> command) {
  return [command = std::move(command)]() -> Result<lab::bench::Runner> {
    COMMENSAL_ASSIGN(auto channel, lab::bench::start_process(command));
    return lab::bench::Runner(std::move(channel));
  };
}

CLI::App* declare_bench_subject(CLI::App& bench) {
  return bench.add_subcommand(kSubjectWord)->group("");
}

Result<int> run_bench_subject() {
  lab::bench::serve_runtime(std::cin, std::cout, core::SystemClock());
  return 0;
}

}  // namespace commensal::apps
