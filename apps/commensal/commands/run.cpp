// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <apps/commensal/picture_options.hpp>
#include <apps/common/backend_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/complaint.hpp>
#include <apps/common/inputs.hpp>
#include <apps/common/outputs.hpp>
#include <apps/common/progress.hpp>
#include <cerrno>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/profile/profiler.hpp>
#include <cstring>
#include <filesystem>
#include <memory>

namespace commensal::apps {

using core::Result;

namespace {

constexpr std::string_view kTableOnly = "table";
constexpr int kProfiledRuns = 10;                        // beside a first one
constexpr std::int64_t kProfiledNsMax = 10'000'000'000;  // of all; two there are always

struct RunArguments {
  std::string model;
  std::vector<std::string> inputs;
  io::PictureRule image;
  BackendOptions backend;
  Reading reading;
  std::string output_dir;
  std::string profile;  // a file, or kTableOnly; empty for none
  bool hash_only = false;
  bool json = false;
};

bool has_trace(const RunArguments& options) {
  return !options.profile.empty() && options.profile != kTableOnly;
}

/// That a trace can be written where it is to be, and is in nobody's way. Known before the runs.
Result<void> check_trace(const RunArguments& options) {
  if (!has_trace(options)) return {};
  const core::Path file = options.profile;
  // What a run reads is never called so: no slip of the keyboard replaces it.
  if (file.extension() != ".json")
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "'--profile={}': --profile alone, or --profile=FILE.json for a trace",
                      options.profile);
  std::error_code none;
  for (const std::string& read : {options.model, options.reading.labels_file}) {
    if (std::filesystem::equivalent(read, file, none))
      return core::fail(core::ErrorCode::kInvalidArgument, "'{}' is read: a trace would replace it",
                        options.profile);
  }
  const core::Path place = std::filesystem::absolute(file, none);  // a bare name has no folder
  const core::Path folder = std::filesystem::weakly_canonical(place, none).parent_path();
  const bool is_folder = std::filesystem::is_directory(file, none);
  if (!is_folder && ::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return core::fail(core::ErrorCode::kUnavailable, "cannot write '{}': {}", options.profile,
                    std::strerror(is_folder ? EISDIR : errno));
}

// The table goes to standard error: the outputs keep standard output.
Result<void> profile(const RunArguments& options, graph::Session& session,
                     std::span<const tensor::Value> inputs) {
  const core::SystemClock clock;
  profile::Profiler profiler(clock);
  Progress progress("profile");
  for (int i = 0; i <= kProfiledRuns; ++i) {
    progress.show(static_cast<std::size_t>(i), kProfiledRuns + 1);
    profiler.begin_run();
    COMMENSAL_TRY(session.run_values(inputs, {.tracer = &profiler}));
    profiler.end_run();
    const auto& runs = profiler.runs();
    const std::int64_t spent_ns = runs.back().end_ns - runs.front().start_ns;
    const std::int64_t next_ns = runs.back().end_ns - runs.back().start_ns;
    if (runs.size() >= 2 && spent_ns + next_ns > kProfiledNsMax) break;
  }
  progress.clear();
  kernels::Peak peak;
  if (const auto isa = options.backend.isa_used()) {
    kernels::ThreadPool threads(options.backend.threads);
    COMMENSAL_ASSIGN(peak, kernels::measure_peak(*isa, threads, clock));
  }
  fmt::print(stderr, "{}", profile::profile_text(profile::profile_of(profiler, peak)));
  if (!has_trace(options)) return {};
  const profile::Trace trace = profile::trace_of(profiler);
  if (trace.left_out > 0) {
    fmt::print(stderr, "'{}' has the first {} turns of nodes, {} are left out.\n", options.profile,
               trace.turns, trace.left_out);
  }
  return core::save_for_user(options.profile, core::as_bytes(trace.json));
}

void print(const RunArguments& options, const tensor::NamedTensors& outputs) {
  if (options.json) {
    const nlohmann::ordered_json report = {{"outputs", outputs_json(outputs, options.reading)}};
    fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (options.hash_only) {
    print_hashes(outputs);
  } else {
    print_outputs(outputs, options.reading);
  }
}

/// Whether what is asked for can be done with the outputs. Known before the run, as far as it can
/// be.
Result<void> check_uses(RunArguments& options, const graph::Graph& graph) {
  COMMENSAL_TRY(read_labels(options.reading));
  COMMENSAL_TRY(fit_declared(options.reading, graph));
  if (options.output_dir.empty()) return {};
  std::vector<std::string> names;
  for (const graph::ValueId id : graph.outputs) names.push_back(graph.name_of(id));
  COMMENSAL_TRY(keep_inputs(names, options.output_dir, options.inputs));
  return make_output_folder(options.output_dir);
}

Result<int> run(RunArguments& options) {
  COMMENSAL_TRY(check_trace(options));
  auto imported = graph::onnx::import_file(options.model);
  if (!imported) return core::in_context(fmt::format("'{}'", options.model), imported.error());
  const graph::Graph& graph = **imported;
  COMMENSAL_TRY(check_uses(options, graph));
  COMMENSAL_ASSIGN(const auto inputs, read_inputs(graph, options.inputs, options.image));
  COMMENSAL_ASSIGN(auto session, graph::Session::create(*imported, options.backend.session()));
  const std::vector<tensor::Value> given(inputs.begin(), inputs.end());
  COMMENSAL_ASSIGN(const auto values, session.run_values(given));
  const auto outputs = named_outputs(graph, values);
  print(options, outputs);
  COMMENSAL_TRY(check_output());
  // Standard output has the outputs: what is wrong beside them is said beside it.
  int status = 0;
  const auto note = [&status](const Result<void>& done) {
    if (done) return;
    complain(false, "commensal run", done.error());
    status = 1;
  };
  note(fit_labels(options.reading, outputs));
  if (!options.output_dir.empty()) note(write_outputs(outputs, options.output_dir));
  if (!options.profile.empty()) note(profile(options, session, given));
  return status;
}

}  // namespace

Run declare_run(CLI::App& app) {
  const auto options = std::make_shared<RunArguments>();
  app.add_option("model", options->model, "ONNX file")->required();
  app.add_option(
         "--input", options->inputs,
         "[NAME=]FILE, once for each input; .npy, .npz[:member], .pb, .jpg, .png, .pgm, .ppm")
      ->allow_extra_args(false);
  declare_picture(app, options->image);
  options->backend.declare(app);
  options->reading.declare(app);
  app.add_option("--output-dir", options->output_dir, "Folder for the outputs, as NAME.npy");
  app.add_flag(fmt::format("--profile{{{}}}", kTableOnly), options->profile,
               "Run some times more and print each operator's time, GFLOP/s and GB/s on standard "
               "error; --profile=FILE.json writes a trace for Chrome or Perfetto too");
  CLI::Option* const hash =
      app.add_flag("--hash", options->hash_only, "Print each output's SHA-256 only");
  app.add_flag("--json", options->json, "Print JSON, hashes among it")->excludes(hash);
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
