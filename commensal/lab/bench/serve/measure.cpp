// SPDX-License-Identifier: Apache-2.0
#include <inference/grpc_service.pb.h>

#include <array>
#include <chrono>
#include <commensal/lab/bench/serve/echo.hpp>
#include <commensal/lab/bench/serve/load.hpp>
#include <commensal/lab/bench/serve/serve_bench.hpp>
#include <commensal/lab/bench/serve/simple_model.hpp>
#include <commensal/lab/bench/serve/stack.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/serve/client/client.hpp>
#include <optional>
#include <thread>

namespace commensal::lab::bench::serve {
namespace {

using core::Result;

constexpr const char* kModel = "operator/simple";
constexpr const char* kInferMethod = "/inference.GRPCInferenceService/ModelInfer";
constexpr std::size_t kAnswerBytes = 420;  // of an answer with its receipt, about

/// As Triton's client sends it.
std::string request() {
  inference::ModelInferRequest made;
  made.set_model_name(kModel);
  for (int i = 0; i < 2; ++i) {
    auto& input = *made.add_inputs();
    input.set_name(fmt::format("INPUT{}", i));
    input.set_datatype("INT32");
    input.add_shape(1);
    input.add_shape(16);
    made.add_raw_input_contents(std::string(64, static_cast<char>(i)));
    made.add_outputs()->set_name(fmt::format("OUTPUT{}", i));
  }
  return made.SerializeAsString();
}

std::int64_t cpu_ns(const std::vector<Part>& parts) {
  std::int64_t all = 0;
  for (const Part& part : parts) all += part.cpu_ns();
  return all;
}

Result<void> add(std::vector<Part>& parts, Result<Part> started) {
  COMMENSAL_ASSIGN(Part part, std::move(started));
  parts.push_back(std::move(part));
  return {};
}

/// What one slice was like.
struct Slice {
  Loaded loaded;
  double cpu_us = 0;  // of a request, in the parties, less the client
};

class Bench {
 public:
  Bench(const ServeBenchOptions& options, const core::Clock& clock)
      : options_(options), clock_(clock) {
    stack_.folder = options.folder;
    stack_.at_once = options.at_once;
  }

  Result<void> start();
  Result<Report> run();

 private:
  enum Which : std::uint8_t { kEcho, kPlain, kReceipts };
  static constexpr std::size_t kSides = 3;
  using Slices = std::array<std::vector<Slice>, kSides>;

  Result<void> start_echo();
  Result<void> start_plain();
  Result<void> start_real();
  Result<void> push(const GatewayPlace& place) const;
  Result<void> warm_up();
  Result<Slices> measure(std::size_t concurrency);
  void report(Report& report, std::size_t concurrency, const Slices& slices) const;

  const ServeBenchOptions& options_;
  const core::Clock& clock_;
  StackOptions stack_;
  const core::Bytes model_ = simple_model();
  std::array<std::vector<Part>, kSides> parts_;
  std::array<Question, kSides> questions_;
  std::array<std::unique_ptr<Load>, kSides> loads_;
};

Result<void> Bench::start_echo() {
  auto& parts = parts_[kEcho];
  COMMENSAL_TRY(add(parts, Part::start("relay", relay)));
  const std::string address = parts[0].said();
  COMMENSAL_TRY(add(parts, Part::start("echo", [&](const Part::Side& side) {
                      return echo(side, address, kAnswerBytes);
                    })));
  questions_[kEcho] = {address, kEchoMethod, request(), ""};
  return {};
}

Result<void> Bench::start_plain() {
  const core::Path file = options_.folder / "simple.onnx";
  COMMENSAL_TRY(core::write_file_atomically(file, model_));
  auto& parts = parts_[kPlain];
  COMMENSAL_TRY(add(parts, Part::start("gateway without receipts", [&](const Part::Side& side) {
                      return plain_gateway(side, stack_, kModel, model_);
                    })));
  COMMENSAL_ASSIGN(const GatewayPlace place, GatewayPlace::read(parts[0].said()));
  COMMENSAL_TRY(add(parts, Part::start("provider without receipts", [&](const Part::Side& side) {
                      return plain_provider(side, stack_, place, file);
                    })));
  questions_[kPlain] = {place.grpc, kInferMethod, request(), "Bearer " + place.token};
  return {};
}

Result<void> Bench::start_real() {
  auto& parts = parts_[kReceipts];
  COMMENSAL_TRY(add(parts, Part::start("gateway", [&](const Part::Side& side) {
                      return gateway(side, stack_);
                    })));
  COMMENSAL_ASSIGN(const GatewayPlace place, GatewayPlace::read(parts[0].said()));
  COMMENSAL_TRY(add(parts, Part::start("provider", [&](const Part::Side& side) {
                      return provider(side, stack_, place);
                    })));
  questions_[kReceipts] = {place.grpc, kInferMethod, request(), "Bearer " + place.token};
  return {};
}

Result<void> Bench::push(const GatewayPlace& place) const {
  COMMENSAL_ASSIGN(auto client, client::Client::create({.url = place.http, .token = place.token}));
  COMMENSAL_TRY(client.push({.model = kModel,
                             .bytes = model_,
                             .is_private = false,
                             .allowed_providers = {},
                             .progress = {}}));
  return {};
}

Result<void> Bench::start() {
  COMMENSAL_TRY(start_echo());
  COMMENSAL_TRY(start_plain());
  COMMENSAL_TRY(start_real());
  // From here on this process has threads.
  COMMENSAL_ASSIGN(const GatewayPlace place, GatewayPlace::read(parts_[kReceipts][0].said()));
  COMMENSAL_TRY(push(place));
  for (std::size_t i = 0; i < kSides; ++i)
    loads_[i] = std::make_unique<Load>(questions_[i], clock_);
  return warm_up();
}

/// Until a first request is answered everywhere: providers come when they are ready.
Result<void> Bench::warm_up() {
  constexpr int kTries = 200;
  constexpr auto kWait = std::chrono::milliseconds(50);
  for (const auto& load : loads_) {
    Result<Loaded> said;
    for (int i = 0; i < kTries && !(said = load->run(1, 1)); ++i)
      std::this_thread::sleep_for(kWait);
    COMMENSAL_TRY(said);
  }
  return {};
}

Result<Bench::Slices> Bench::measure(std::size_t concurrency) {
  Slices slices;
  for (int round = -1; round < options_.rounds; ++round) {  // the first one warms up
    for (std::size_t k = 0; k < kSides; ++k) {
      const std::size_t i = (k + static_cast<std::size_t>(round + 1)) % kSides;
      const std::int64_t before_ns = cpu_ns(parts_[i]);
      COMMENSAL_ASSIGN(const Loaded loaded, loads_[i]->run(concurrency, options_.slice_ms));
      const auto spent_ns = static_cast<double>(cpu_ns(parts_[i]) - before_ns);
      if (round >= 0)
        slices[i].push_back({loaded, spent_ns * 1e-3 / static_cast<double>(loaded.answers)});
    }
  }
  return slices;
}

void Bench::report(Report& report, std::size_t concurrency, const Slices& slices) const {
  constexpr std::array<const char*, kSides> kNames = {"echo", "without_receipts", "with_receipts"};
  const std::string how = fmt::format("concurrency {}, {} slices of {} ms", concurrency,
                                      options_.rounds, options_.slice_ms);
  const auto all = [&](std::size_t i, auto of) {
    std::vector<double> values;
    for (const Slice& slice : slices[i]) values.push_back(of(slice));
    return values;
  };
  for (std::size_t i = 0; i < kSides; ++i) {
    const auto name = [&](const char* what) {
      return fmt::format("{}_{}_{}", kNames[i], concurrency, what);
    };
    const auto row = [&](const char* what, auto of) {
      report.rows.push_back(row_at_least(name(what), {}, all(i, of), how));
    };
    row("rate_per_s", [](const Slice& slice) { return slice.loaded.rate(); });
    row("p50_us", [](const Slice& slice) { return slice.loaded.p50_us; });
    row("p99_us", [](const Slice& slice) { return slice.loaded.p99_us; });
    row("cpu_us", [](const Slice& slice) { return slice.cpu_us; });
  }
  const bool is_held = concurrency == 64;
  const auto share = [&](std::size_t i, const char* name, double limit) {
    std::vector<double> shares;
    for (std::size_t k = 0; k < slices[i].size(); ++k)
      shares.push_back(slices[i][k].loaded.rate() / slices[kEcho][k].loaded.rate());
    report.rows.push_back(row_at_least(is_held ? name : fmt::format("{}_{}", name, concurrency),
                                       is_held ? std::optional(limit) : std::nullopt,
                                       std::move(shares), how));
  };
  share(kPlain, "share_of_echo_without_receipts", 0.6);
  share(kReceipts, "share_of_echo_with_receipts", 0.35);
}

Result<Report> Bench::run() {
  Report report;
  for (const std::size_t concurrency : options_.concurrency) {
    COMMENSAL_ASSIGN(const Slices slices, measure(concurrency));
    this->report(report, concurrency, slices);
  }
  return report;
}

}  // namespace

Result<Report> run_serve_bench(const ServeBenchOptions& options, const core::Clock& clock) {
  Bench bench(options, clock);
  COMMENSAL_TRY(bench.start());
  return bench.run();
}

}  // namespace commensal::lab::bench::serve
