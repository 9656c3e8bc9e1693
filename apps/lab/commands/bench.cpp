// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/common/bench_files.hpp>
#include <apps/common/bench_report.hpp>
#include <apps/common/bench_subject.hpp>
#include <apps/common/command.hpp>
#include <apps/common/nearest.hpp>
#include <apps/common/progress.hpp>
#include <apps/lab/bench_collocation.hpp>
#include <apps/lab/bench_segments.hpp>
#include <apps/lab/bench_train.hpp>
#include <cctype>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/lab/bench/collocation/guests_together.hpp>
#include <commensal/lab/bench/operators/measure.hpp>
#include <commensal/lab/bench/pay/pay_bench.hpp>
#include <commensal/lab/bench/promise/promise_bench.hpp>
#include <commensal/lab/bench/serve/serve_bench.hpp>
#include <commensal/lab/bench/verify/verify_bench.hpp>
#include <commensal/lab/bench/worker/worker_bench.hpp>
#include <commensal/lab/classic.hpp>
#include <memory>

namespace commensal::apps {

using core::Result;

namespace {

struct BenchArguments {
  std::string models_dir = default_models_folder().string();
  lab::bench::pay::PayBenchOptions pay;
  lab::bench::verify::VerifyBenchOptions verify;
  lab::bench::worker::WorkerBenchOptions worker;
  lab::bench::collocation::GuestsOptions guests;
  lab::bench::promise::PromiseBenchOptions promise;
  lab::bench::operators::Options operators;
  lab::bench::serve::ServeBenchOptions serve;
  bool operators_quick = false;
  std::string svg;
  std::string peer = "onnxruntime";
  bool json = false;
};

Result<int> bench_tickets(BenchArguments& options) {
  // Where the program is started: a temporary folder may lie in memory, where fsync costs nothing.
  COMMENSAL_ASSIGN(const auto folder, core::TemporaryFolder::make("commensal-bench", "."));
  options.pay.folder = folder.path();
  options.pay.model = core::Path(options.models_dir) / "squeezenet1_1.onnx";
  if (const auto there = export_missing(options.models_dir, {"squeezenet1_1"}); !there) {
    fmt::print(stderr, "provider_overhead_beyond_ingest is left out: {}\n", there.error().message);
    options.pay.model.clear();
  }
  COMMENSAL_ASSIGN(const auto report,
                   lab::bench::pay::run_pay_bench(options.pay, core::SystemClock()));
  return print_report(report, options.json);
}

/// Those that are run in batches, with drawn weights.
Result<void> write_networks(const core::Path& folder, lab::bench::serve::BatchingOptions& to) {
  using Make = core::Bytes (*)(std::uint64_t);
  constexpr std::tuple<const char*, Make, double> kNetworks[] = {{"resnet50", lab::resnet50, 1.05},
                                                                 {"alexnet", lab::alexnet, 1.8}};
  to.folder = folder;
  for (const auto& [name, make, limit] : kNetworks) {
    to.networks.push_back({name, folder / fmt::format("{}.onnx", name), limit});
    COMMENSAL_TRY(core::write_file_atomically(to.networks.back().file, make(1)));
  }
  return {};
}

Result<int> bench_serve(BenchArguments& options) {
  constexpr const char* kMemory = "/dev/shm";  // a file system without a disk, where there is one
  COMMENSAL_ASSIGN(const auto folder, core::TemporaryFolder::make("commensal-bench", "."));
  const auto memory = core::TemporaryFolder::make("commensal-bench", kMemory);
  options.serve.folder = folder.path();
  if (memory) options.serve.memory = memory->path();
  COMMENSAL_ASSIGN(options.serve.digits, source_file("models/digits/digits.onnx"));
  options.serve.batching.rounds = options.serve.rounds;
  options.serve.batching.slice_ms = 2 * options.serve.slice_ms;
  COMMENSAL_TRY(write_networks(folder.path(), options.serve.batching));
  COMMENSAL_ASSIGN(const auto report,
                   lab::bench::serve::run_serve_bench(options.serve, core::SystemClock()));
  return print_report(report, options.json);
}

Result<int> bench_verify(BenchArguments& options) {
  COMMENSAL_ASSIGN(const auto folder, core::TemporaryFolder::make("commensal-bench", "."));
  options.verify.folder = folder.path();
  COMMENSAL_TRY(export_missing(options.models_dir, {"resnet50", "bert_l4_h256"}));
  options.verify.resnet = core::Path(options.models_dir) / "resnet50.onnx";
  options.verify.encoder = core::Path(options.models_dir) / "bert_l4_h256.onnx";
  COMMENSAL_ASSIGN(const auto report,
                   lab::bench::verify::run_verify_bench(options.verify, core::SystemClock()));
  return print_report(report, options.json);
}

Result<int> bench_processes(BenchArguments& options) {
  COMMENSAL_TRY(export_missing(options.models_dir, {"resnet50"}));
  options.worker.large = core::Path(options.models_dir) / "resnet50.onnx";
  COMMENSAL_ASSIGN(options.worker.small, source_file("models/digits/digits.onnx"));
  COMMENSAL_ASSIGN(const auto report,
                   lab::bench::worker::run_worker_bench(options.worker, core::SystemClock()));
  return print_report(report, options.json);
}

Result<int> bench_guests(BenchArguments& options) {
  lab::bench::collocation::GuestsOptions& guests = options.guests;
  guests.folder = options.models_dir;
  if (guests.models.empty()) guests.models = {"squeezenet1_1", "mobilenet_v2", "resnet50"};
  COMMENSAL_TRY(export_missing(guests.folder, guests.models));
  COMMENSAL_ASSIGN(const auto program, own_program());
  guests.start = subject_starter({program.string(), "bench", kSubjectWord});
  core::SystemRng rng;
  COMMENSAL_ASSIGN(const auto rows, lab::bench::collocation::run_guests_bench(guests, rng));
  if (!options.svg.empty()) {
    COMMENSAL_TRY(core::save_for_user(options.svg,
                                      core::as_bytes(lab::bench::collocation::guests_svg(rows))));
  }
  return print_report(report_of(rows), options.json);
}

Result<int> bench_promise(BenchArguments& options) {
  COMMENSAL_ASSIGN(const auto report, lab::bench::promise::run_promise_bench(options.promise));
  return print_report(report, options.json);
}

/// The operator that `word` was probably meant to be; empty: none.
std::string operator_meant(std::string_view word) {
  std::vector<std::string> known;
  for (const auto& pick : lab::bench::operators::picks({})) known.emplace_back(pick.op);
  for (const auto& row : lab::bench::operators::not_measured()) {
    for (const auto op : lab::bench::operators::names_in(row.ops)) known.emplace_back(op);
  }
  const auto lower = [](unsigned char letter) { return std::tolower(letter); };
  const auto same = std::ranges::find_if(known, [&](const std::string& one) {
    return std::ranges::equal(one, word, {}, lower, lower);
  });
  return same != known.end() ? *same : nearest(word, known);
}

Result<int> bench_operators(BenchArguments& options) {
  for (const std::string& op : options.operators.ops) {
    if (const auto* row = lab::bench::operators::why_not_measured(op)) {
      return core::fail(core::ErrorCode::kNotFound, "{} has no case of its own: {}", op, row->why);
    }
    if (lab::bench::operators::picks({&op, 1}).empty()) {
      const std::string meant = operator_meant(op);
      return core::fail(core::ErrorCode::kNotFound, "no case measures '{}'{}", op,
                        meant.empty() ? "; `commensal operators` lists names"
                                      : fmt::format("; did you mean '{}'?", meant));
    }
  }
  COMMENSAL_ASSIGN(const auto program, own_program());
  COMMENSAL_ASSIGN(const auto peer, onnxruntime_command());
  lab::bench::operators::Options& bench = options.operators;
  if (options.operators_quick) {
    bench.firsts = true;
    bench.turns.repeats = 3;
    bench.turns.rounds_max = 1;
  }
  bench.ours = subject_starter({program.string(), "bench", kSubjectWord});
  bench.theirs = subject_starter(peer);
  Progress progress("bench");
  bench.progress = [&progress](const std::string&, std::size_t done, std::size_t total) {
    progress.show(done, total);
  };
  COMMENSAL_ASSIGN(const auto report,
                   lab::bench::operators::run_operators_bench(bench, core::SystemClock()));
  progress.clear();
  return print_report(report, options.json);
}

void declare_operators(CLI::App& app, BenchArguments& options) {
  app.add_option("--operators", options.operators.ops, "Names; default: all")->delimiter(',');
  CLI::Option* const quick =
      app.add_flag("--quick", options.operators_quick,
                   "An operator's first case alone, 3 repeats, a quarter of an hour");
  app.add_option("--threads", options.operators.threads, "Numbers of threads")
      ->delimiter(',')
      ->check(CLI::Range(1, limits::kThreadsMax))
      ->capture_default_str();
  app.add_option("--repeats", options.operators.turns.repeats, "Blocks of runs of each side")
      ->excludes(quick)
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--peer", options.peer, "onnxruntime")
      ->check(CLI::IsMember({"onnxruntime"}))
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print JSON");
}

void declare_promise(CLI::App& app, BenchArguments& options) {
  app.add_option("--seeds", options.promise.seeds, "Runs of each host")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--hours", options.promise.hours, "Of a run, in virtual time")
      ->check(CLI::Range(2.0, 240.0))
      ->capture_default_str();
  app.add_option("--seed", options.promise.first_seed, "The first")->capture_default_str();
  app.add_option("--trace", options.promise.traces, "Recorded by commensal-lab trace")
      ->check(CLI::ExistingFile);
  app.add_flag("--json", options.json, "Print JSON");
}

void declare_serve(CLI::App& app, BenchArguments& options) {
  app.add_option(
      "--parts", options.serve.parts,
      "Of the bench, with commas between: rates, added, large, memory, batching; default: all");
  app.add_option("--requests", options.serve.requests, "After which memory is looked at")
      ->check(CLI::Range(1'000, 100'000'000))
      ->capture_default_str();
  app.add_option("--concurrency", options.serve.concurrency, "Requests under way")
      ->delimiter(',')
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  app.add_option("--rounds", options.serve.rounds, "Slices of each side")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--slice-ms", options.serve.slice_ms, "Milliseconds of a slice")
      ->check(CLI::Range(10, 600'000))
      ->capture_default_str();
  app.add_option("--batch-max", options.serve.at_once, "Requests a provider joins in one run")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print JSON");
}

void declare_guests(CLI::App& app, BenchArguments& options) {
  app.add_option("--models", options.guests.models,
                 "Names, the smallest first; default: squeezenet1_1,mobilenet_v2,resnet50")
      ->delimiter(',');
  app.add_option("--models-dir", options.models_dir,
                 "Folder of NAME.onnx; what is missing is exported into it")
      ->capture_default_str();
  app.add_option("--rounds", options.guests.rounds, "Slices of each way")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--slice", options.guests.slice_s, "Seconds of a slice")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  app.add_option("--svg", options.svg, "Write a bar chart");
  app.add_flag("--json", options.json, "Print JSON");
}

void declare_verify(CLI::App& app, BenchArguments& options) {
  app.add_option(
         "--models-dir", options.models_dir,
         "Folder of resnet50.onnx and bert_l4_h256.onnx; what is missing is exported into it")
      ->capture_default_str();
  app.add_option("--rounds", options.verify.rounds, "Rounds of each measurement")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--disputes", options.verify.disputes, "Disputes about each network")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seed", options.verify.seed, "What operators are drawn from")
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print JSON");
}

void declare_processes(CLI::App& app, BenchArguments& options) {
  app.add_option("--models-dir", options.models_dir,
                 "Folder of resnet50.onnx; it is exported into it if it is missing")
      ->capture_default_str();
  app.add_option("--threads", options.worker.threads, "Threads of each side")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--rounds", options.worker.rounds, "Rounds of each measurement")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print JSON");
}

void declare_tickets(CLI::App& app, BenchArguments& options) {
  app.add_option("--repeats", options.pay.repeats, "Repeats of each measurement")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--group", options.pay.group, "Entries in one write of the ledger")
      ->check(CLI::Range(1, 1 << 14))
      ->capture_default_str();
  app.add_option("--batch", options.pay.batch, "Receipts under one signature")
      ->check(CLI::Range(1, 1 << 12))
      ->capture_default_str();
  app.add_option("--models-dir", options.models_dir,
                 "Folder of squeezenet1_1.onnx; it is exported into it if it is missing")
      ->capture_default_str();
  app.add_option("--rounds", options.pay.rounds,
                 "Rounds of slices of requests: plain, hashed, with receipts and tickets")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

Run declare_lab_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchArguments>();
  app.require_subcommand(1);
  CLI::App* tickets = app.add_subcommand(
      "tickets",
      "Tickets verified and ledger entries made durable; exit status 2 if a bar is missed");
  declare_tickets(*tickets, *options);
  CLI::App* verify = app.add_subcommand(
      "verify",
      "What receipts, audits and disputes cost beside execution; exit status 2 if a bar is missed");
  declare_verify(*verify, *options);
  CLI::App* collocation = app.add_subcommand(
      "collocation",
      "What a host keeps and a guest gets, by our rule and others'; exit status 2 if a bar is "
      "missed");
  const Run run_collocation = declare_bench_collocation(*collocation);
  CLI::App* guests = app.add_subcommand(
      "guests", "Two runs of a network at the same time, against one after the other");
  declare_guests(*guests, *options);
  CLI::App* processes = app.add_subcommand(
      "processes",
      "What it costs that models run in processes of their own; exit status 2 if a bar is missed");
  declare_processes(*processes, *options);
  CLI::App* promise = app.add_subcommand(
      "promise",
      "Whether the governor keeps its promise, beside simulated and recorded hosts; exit status 2 "
      "if a bar is missed");
  declare_promise(*promise, *options);
  CLI::App* operators = app.add_subcommand("operators",
                                           "Each operator of networks beside ONNX Runtime (npm ci "
                                           "in tests/peer), in about an hour; exit "
                                           "status 2 if a bar is missed");
  declare_operators(*operators, *options);
  CLI::App* serve = app.add_subcommand("serve",
                                       "Rates, latencies and memory of gateway and provider, "
                                       "beside gRPC alone, the network alone and without "
                                       "receipts; exit status 2 if a bar is missed");
  declare_serve(*serve, *options);
  CLI::App* train = app.add_subcommand(
      "train",
      "A step of training beside PyTorch's (python3-torch); exit status 2 if a bar is missed");
  const Run run_train = declare_bench_train(*train);
  CLI::App* segments = app.add_subcommand(
      "segments",
      "What it costs that a training can be verified; exit status 2 if a bar is missed");
  const Run run_segments = declare_bench_segments(*segments);
  CLI::App* subject = declare_bench_subject(app);
  return [options, subject, tickets, verify, collocation, run_collocation, guests, processes,
          promise, operators, serve, train, run_train, segments, run_segments]() -> Result<int> {
    if (collocation->parsed()) return run_collocation();
    if (train->parsed()) return run_train();
    if (segments->parsed()) return run_segments();
    if (tickets->parsed()) return bench_tickets(*options);
    if (verify->parsed()) return bench_verify(*options);
    if (guests->parsed()) return bench_guests(*options);
    if (promise->parsed()) return bench_promise(*options);
    if (operators->parsed()) return bench_operators(*options);
    if (serve->parsed()) return bench_serve(*options);
    if (processes->parsed()) return bench_processes(*options);
    return run_bench_subject();
  };
}

}  // namespace commensal::apps
