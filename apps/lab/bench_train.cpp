// SPDX-License-Identifier: Apache-2.0
#include <apps/common/bench_files.hpp>
#include <apps/common/bench_report.hpp>
#include <apps/lab/bench_train.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/lab/bench/train/train_bench.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using core::Path;
using core::Result;

constexpr const char* kDebianPython = "/usr/bin/python3";  // the one that has torch and onnx

struct BenchTrainArguments {
  lab::bench::train::TrainBenchOptions bench;
  bool json = false;
};

/// Runs a script of the source tree.
Result<void> run_script(const Path& script, std::vector<std::string> arguments) {
  COMMENSAL_ASSIGN(const Path found, source_file(script));
  arguments.insert(arguments.begin(), {kDebianPython, found.string()});
  if (run_to_end(arguments) == 0) return {};
  return core::fail(core::ErrorCode::kFailedPrecondition,
                    "{} failed (see above); scripts/install-packages bench installs what it needs",
                    found.string());
}

/// Both networks with drawn weights.
Result<void> write_networks(const Path& folder, lab::bench::train::TrainBenchOptions& to) {
  core::Bytes text(20000);
  core::CounterRng rng(1, 0);
  for (std::uint8_t& byte : text) byte = static_cast<std::uint8_t>(rng.next_u32() >> 24);
  COMMENSAL_TRY(core::write_file_atomically(folder / "text", text));
  to.gpt = folder / "gpt.onnx";
  to.resnet18 = folder / "resnet18.onnx";
  COMMENSAL_TRY(
      run_script("models/gpt/write_gpt.py", {(folder / "text").string(), folder.string()}));
  return run_script("models/classic/write_classic.py", {"resnet18", to.resnet18.string()});
}

Result<int> run(BenchTrainArguments& options) {
  COMMENSAL_ASSIGN(const auto folder, core::TemporaryFolder::make("commensal-bench", "."));
  options.bench.folder = folder.path();
  COMMENSAL_TRY(write_networks(folder.path(), options.bench));
  COMMENSAL_ASSIGN(const Path peer, source_file("tests/peer/train_pytorch.py"));
  options.bench.peer = {kDebianPython, peer.string()};
  COMMENSAL_ASSIGN(const auto report,
                   lab::bench::train::run_train_bench(options.bench, core::SystemClock()));
  return print_report(report, options.json);
}

}  // namespace

Run declare_bench_train(CLI::App& app) {
  const auto options = std::make_shared<BenchTrainArguments>();
  app.add_option("--rounds", options->bench.rounds, "Turns of each side, for each network")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
