// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/older_build.hpp>
#include <apps/common/bench_files.hpp>
#include <apps/common/bench_report.hpp>
#include <apps/common/bench_subject.hpp>
#include <apps/common/command.hpp>
#include <apps/common/progress.hpp>
#include <charconv>
#include <commensal/lab/bench/runtime/report.hpp>
#include <memory>

namespace commensal::apps {

using core::Result;

namespace {

constexpr std::string_view kSuffix = ".onnx";

struct BenchArguments {
  std::string peer = "onnxruntime";
  std::string models_dir = default_models_folder().string();
  std::vector<std::string> shapes;  // as NAME=1,3,224,224
  lab::bench::BenchOptions bench;
  bool skip_load = false;
  bool skip_latency = false;
  bool json = false;
};

// Who is started on the other side, and what must be so before a figure is taken.
Result<void> find_peer(BenchArguments& options) {
  lab::bench::BenchOptions& bench = options.bench;
  COMMENSAL_ASSIGN(const auto program, own_program());
  bench.ours = subject_starter({program.string(), "bench", kSubjectWord});
  if (options.peer == "onnxruntime") {
    COMMENSAL_ASSIGN(const auto command, onnxruntime_command());
    bench.theirs = subject_starter(command);
    return {};
  }
  COMMENSAL_ASSIGN(const auto command, older_build_command(options.peer));
  bench.peer = lab::bench::Peer::kOlderBuild;
  bench.theirs = subject_starter(command);
  bench.check = [program, peer = core::Path(command.front()),
                 threads = std::ranges::max(bench.threads)](
                    const core::Path& model, const std::vector<lab::bench::InputFile>& inputs) {
    return same_outputs(program, peer, model, inputs, threads);
  };
  return {};
}

Result<lab::bench::Shapes> shapes_of(const std::vector<std::string>& given) {
  lab::bench::Shapes shapes;
  for (const std::string& text : given) {
    const std::size_t at = std::min(text.rfind('='), text.size());
    std::vector<std::int64_t>& dims = shapes[text.substr(0, at)];
    std::string_view rest = std::string_view(text).substr(std::min(at + 1, text.size()));
    while (!rest.empty()) {
      std::int64_t dim = 0;
      const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
      const auto length = static_cast<std::size_t>(read.ptr - rest.data());
      const bool is_end = length == rest.size();
      if (read.ec != std::errc() || dim < 1 || (!is_end && rest[length] != ',')) break;
      dims.push_back(dim);
      rest.remove_prefix(is_end ? length : length + 1);
    }
    if (!rest.empty() || dims.empty() || text.ends_with(','))
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "--shape '{}', expected NAME=1,3,224,224", text);
  }
  return shapes;
}

Result<int> bench_runtime(BenchArguments& options) {
  lab::bench::BenchOptions& bench = options.bench;
  bench.folder = options.models_dir;
  COMMENSAL_ASSIGN(bench.shapes, shapes_of(options.shapes));
  if (bench.models.empty()) {
    bench.models.assign(lab::bench::bench_networks().begin(), lab::bench::bench_networks().end());
  }
  for (std::string& model : bench.models) {
    if (model.ends_with(kSuffix)) model.resize(model.size() - kSuffix.size());
  }
  if (options.skip_load) bench.load_repeats = 0;
  if (options.skip_latency) bench.repeats = 0;
  COMMENSAL_TRY(missing_of(bench.folder, bench.models));  // before anything is started
  COMMENSAL_TRY(find_peer(options));
  COMMENSAL_TRY(export_missing(bench.folder, bench.models));
  Progress progress("bench");
  bench.progress = [&progress](const std::string&, std::size_t done, std::size_t total) {
    progress.show(done, total);
  };
  COMMENSAL_ASSIGN(const auto compared, lab::bench::run_bench(bench));
  progress.clear();
  return print_report(lab::bench::report_of(compared), options.json);
}

void declare_runtime(CLI::App& app, BenchArguments& options) {
  app.add_option("--peer", options.peer, "onnxruntime, or the path of an older build of this")
      ->capture_default_str();
  app.add_option("--threads", options.bench.threads, "Numbers of threads")
      ->delimiter(',')
      ->check(CLI::Range(1, limits::kThreadsMax))
      ->capture_default_str();
  app.add_option("--batch", options.bench.batches, "Batch sizes")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--models", options.bench.models, "Names; default: the project's 18 networks")
      ->delimiter(',');
  app.add_option(
         "--shape", options.shapes,
         "NAME=1,3,224,224, once for each input with free dimensions, else taken for 1; the "
         "first, where it is free, is --batch's")
      ->allow_extra_args(false);
  app.add_option("--models-dir", options.models_dir,
                 "Folder of NAME.onnx; what is missing of the 18 is exported into it")
      ->capture_default_str();
  app.add_option("--repeats", options.bench.repeats, "Blocks of runs of each side")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--load-repeats", options.bench.load_repeats,
                 "Fresh processes of each side, for load time and memory")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI::Option* const skip_load =
      app.add_flag("--skip-load", options.skip_load, "Measure latency only");
  app.add_flag("--skip-latency", options.skip_latency, "Measure load time and memory only")
      ->excludes(skip_load);
  app.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

Run declare_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchArguments>();
  app.require_subcommand(1);
  CLI::App* runtime = app.add_subcommand(
      "runtime",
      "Latency, load time and memory beside another runtime or an older build; exit status 2 if a "
      "bar is missed");
  declare_runtime(*runtime, *options);
  CLI::App* subject = declare_bench_subject(app);
  return [options, subject]() -> Result<int> {
    if (subject->parsed()) return run_bench_subject();
    return bench_runtime(*options);
  };
}

}  // namespace commensal::apps
