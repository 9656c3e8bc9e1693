// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <commensal/lab/bench/serve/echo.hpp>
#include <commensal/lab/bench/serve/floors.hpp>
#include <commensal/lab/bench/serve/simple_model.hpp>
#include <commensal/lab/bench/serve/stage.hpp>
#include <optional>

namespace commensal::lab::bench::serve {
namespace {

using core::Result;

constexpr const char* kModel = "operator/simple";
constexpr std::size_t kAnswerBytes = 420;  // of an answer with its receipt, about

std::string request() {
  std::vector<RawInput> inputs;
  for (int i = 0; i < 2; ++i) {
    inputs.push_back({.name = fmt::format("INPUT{}", i),
                      .datatype = "INT32",
                      .shape = {1, 16},
                      .bytes = std::string(64, static_cast<char>(i))});
  }
  return grpc_request(kModel, inputs);
}

class Rates final : public Stage {
 public:
  Rates(const ServeBenchOptions& options, const core::Clock& clock)
      : options_(options), clock_(clock), folder_(options.folder / "rates") {}

  Result<void> begin() override {
    COMMENSAL_TRY(make_folder(folder_));
    file_ = folder_ / "simple.onnx";
    COMMENSAL_TRY(core::write_file_atomically(file_, model_));
    parties_.resize(kParties);
    COMMENSAL_TRY(begin_echo(kEcho, "echo", 1));
    COMMENSAL_TRY(begin_echo(kTwice, "echo_twice", 2));
    COMMENSAL_TRY(begin_whole());
    COMMENSAL_TRY(begin_plain());
    COMMENSAL_ASSIGN(RealStack real, start_real(options_, folder_));
    place_ = real.place;
    parties_[kReceipts] = {"with_receipts", std::move(real.parts), nullptr};
    begin_nginx();
    return {};
  }

  Result<void> measure(Report& report) override {
    COMMENSAL_TRY(push(place_, kModel, model_));
    const auto& whole = parties_[kWhole].parts[0].said();
    const std::array<Question, kParties> questions = {
        Question{parties_[kEcho].parts[0].said(), kEchoMethod, request(), ""},
        Question{parties_[kTwice].parts[0].said(), kEchoMethod, request(), ""},
        Question{whole, kInferMethod, request(), ""}, question_at(plain_place_, request()),
        question_at(place_, request())};
    for (std::size_t i = 0; i < kParties; ++i) parties_[i].load = grpc_load(questions[i], clock_);
    for (const Party& party : parties_) COMMENSAL_TRY(wait_for(*party.load));
    if (nginx_.empty()) {
      report.notes.push_back("nginx is not there: http_alone is left out");
    } else {
      const std::string asked = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
      parties_.push_back({"http_alone", {}, http_load(nginx_[0].said(), asked, clock_)});
      parties_.back().parts = std::move(nginx_);
      COMMENSAL_TRY(wait_for(*parties_.back().load));
    }
    for (const std::size_t concurrency : options_.concurrency) {
      COMMENSAL_ASSIGN(const Slices slices, in_turn(parties_, concurrency, options_));
      write(report, concurrency, slices);
    }
    return {};
  }

 private:
  enum Which : std::uint8_t { kEcho, kTwice, kWhole, kPlain, kReceipts, kParties };

  Result<void> add(Which which, std::string name, const char* what, const Part::Serve& serve) {
    COMMENSAL_ASSIGN(Part part, Part::start(what, serve));
    parties_[which].name = std::move(name);
    parties_[which].parts.push_back(std::move(part));
    return {};
  }
  Result<void> begin_echo(Which which, const char* name, int trips) {
    COMMENSAL_TRY(
        add(which, name, "relay", [&](const Part::Side& side) { return relay(side, trips); }));
    const std::string address = parties_[which].parts[0].said();
    return add(which, name, "echo",
               [&](const Part::Side& side) { return echo(side, address, kAnswerBytes); });
  }
  Result<void> begin_whole() {
    return add(kWhole, "one_process", "server of one process",
               [&](const Part::Side& side) { return one_process(side, file_); });
  }
  Result<void> begin_plain() {
    StackOptions stack;
    stack.folder = folder_;
    stack.at_once = options_.at_once;
    COMMENSAL_TRY(
        add(kPlain, "without_receipts", "gateway without receipts",
            [&](const Part::Side& side) { return plain_gateway(side, stack, kModel, model_); }));
    COMMENSAL_ASSIGN(plain_place_, GatewayPlace::read(parties_[kPlain].parts[0].said()));
    return add(
        kPlain, "without_receipts", "provider without receipts",
        [&](const Part::Side& side) { return plain_provider(side, stack, plain_place_, file_); });
  }
  void begin_nginx() {
    auto part = Part::start(
        "nginx", [&](const Part::Side& side) { return nginx(side, folder_, kAnswerBytes); });
    if (part) nginx_.push_back(*std::move(part));
  }

  void write(Report& report, std::size_t concurrency, const Slices& slices) const {
    const std::string how = fmt::format("concurrency {}, {} slices of {} ms", concurrency,
                                        options_.rounds, options_.slice_ms);
    for (std::size_t i = 0; i < parties_.size(); ++i) {
      const auto row = [&](const char* what, auto of) {
        report.rows.push_back(
            row_at_least(fmt::format("{}_{}_{}", parties_[i].name, concurrency, what), {},
                         each(slices[i], of), how));
      };
      row("rate_per_s", [](const Slice& slice) { return slice.loaded.rate(); });
      row("p50_us", [](const Slice& slice) { return slice.loaded.p50_us; });
      row("p99_us", [](const Slice& slice) { return slice.loaded.p99_us; });
      row("cpu_us", [](const Slice& slice) { return slice.cpu_us; });
      row("answer_bytes",
          [](const Slice& slice) { return static_cast<double>(slice.loaded.answer_bytes); });
    }
    const bool is_held = concurrency == 64;
    const auto share = [&](Which which, const char* name, double limit) {
      std::vector<double> shares;
      for (std::size_t k = 0; k < slices[which].size(); ++k)
        shares.push_back(slices[which][k].loaded.rate() / slices[kEcho][k].loaded.rate());
      report.rows.push_back(row_at_least(is_held ? name : fmt::format("{}_{}", name, concurrency),
                                         is_held ? std::optional(limit) : std::nullopt,
                                         std::move(shares), how));
    };
    share(kPlain, "share_of_echo_without_receipts", 0.6);
    share(kReceipts, "share_of_echo_with_receipts", 0.35);
  }

  const ServeBenchOptions& options_;
  const core::Clock& clock_;
  const core::Path folder_;
  core::Path file_;
  const core::Bytes model_ = simple_model();
  std::vector<Party> parties_;
  GatewayPlace place_, plain_place_;
  std::vector<Part> nginx_;  // where it is there
};

}  // namespace

std::unique_ptr<Stage> rates_stage(const ServeBenchOptions& options, const core::Clock& clock) {
  return std::make_unique<Rates>(options, clock);
}

}  // namespace commensal::lab::bench::serve
