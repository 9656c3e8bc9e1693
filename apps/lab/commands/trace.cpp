// SPDX-License-Identifier: Apache-2.0
#include <apps/common/command.hpp>
#include <commensal/lab/bench/promise/trace.hpp>
#include <memory>

namespace commensal::apps {

using core::Result;

namespace {

struct TraceArguments {
  std::string host;
  double seconds = 600;
  std::string output;
};

Result<int> run(const TraceArguments& options) {
  COMMENSAL_ASSIGN(const auto trace,
                   lab::bench::promise::record(options.host, core::SystemClock(), options.seconds));
  const std::string text = to_text(trace);
  if (options.output.empty()) return fmt::print("{}", text), 0;
  constexpr unsigned kForAll = 0644;
  COMMENSAL_TRY(core::save_for_user(options.output, core::as_bytes(text), kForAll));
  fmt::print("{} samples of {} in {}\n", trace.samples.size(), trace.host, options.output);
  return 0;
}

}  // namespace

Run declare_trace(CLI::App& app) {
  const auto options = std::make_shared<TraceArguments>();
  app.add_option("HOST", options->host, "What its probe reads, as `commensal provider --host`")
      ->required();
  app.add_option("--seconds", options->seconds, "How long it is looked at")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_option("-o,--output", options->output, "The trace (default: standard output)");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
