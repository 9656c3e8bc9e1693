// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/bench/serve/echo.hpp>
#include <commensal/lab/bench/serve/simple_model.hpp>
#include <commensal/lab/bench/serve/stage.hpp>
#include <filesystem>

namespace commensal::lab::bench::serve {
namespace {

using core::Result;

constexpr const char* kModel = "operator/head";
constexpr std::int64_t kElements = 2'500'000;  // binary32: 10 MB
constexpr double kBytes = 4.0 * kElements;
constexpr std::size_t kAnswerBytes = 420;
constexpr int kWrites = 16;

/// 10 MB in, one element out, one request at a time: over gateway and provider with their state on
/// the disk, which keeps the input until its audit is drawn, and where nothing waits for one.
/// Beside them gRPC alone over two hops, and what a durable write of as much takes.
class Large final : public Stage {
 public:
  Large(const ServeBenchOptions& options, const core::Clock& clock)
      : options_(options), clock_(clock) {}

  Result<void> begin() override {
    COMMENSAL_TRY(begin_stack("large", options_.folder / "large"));
    COMMENSAL_TRY(begin_echo());
    if (options_.memory.empty()) return {};
    return begin_stack("large_in_memory", options_.memory / "large");
  }

  Result<void> measure(Report& report) override {
    const std::vector<RawInput> inputs = {
        {.name = "X",
         .datatype = "FP32",
         .shape = {kElements},
         .bytes = std::string(static_cast<std::size_t>(kBytes), '\0')}};
    std::vector<Party> parties;
    for (const auto& [name, stack] : stacks_) {
      COMMENSAL_TRY(push(stack.place, kModel, head_model()));
      const std::string http = stack.place.http.substr(std::string_view("http://").size());
      parties.push_back(
          {name + "_grpc",
           {},
           grpc_load(question_at(stack.place, grpc_request(kModel, inputs)), clock_)});
      parties.push_back(
          {name + "_rest", {}, http_load(http, http_request(stack.place, kModel, inputs), clock_)});
    }
    parties.push_back(
        {"large_echo",
         {},
         grpc_load({echo_[0].said(), kEchoMethod, grpc_request(kModel, inputs), ""}, clock_)});
    for (const Party& party : parties) COMMENSAL_TRY(wait_for(*party.load));
    COMMENSAL_ASSIGN(const Slices slices, in_turn(parties, 1, options_));
    const std::string how = fmt::format(
        "10 MB in, one element out, one at a time, {} slices of "
        "{} ms",
        options_.rounds, options_.slice_ms);
    for (std::size_t i = 0; i < parties.size(); ++i) {
      const auto rate = [](const Slice& slice) { return kBytes / (slice.loaded.p50_us * 1e3); };
      const std::optional<double> limit = i < 2 ? std::optional(0.4) : std::nullopt;
      report.rows.push_back(
          row_at_least(parties[i].name + "_gb_per_s", limit, each(slices[i], rate), how));
    }
    COMMENSAL_ASSIGN(const auto rates, disk_rates());
    report.rows.push_back(row_at_least("disk_write_gb_per_s", {}, rates,
                                       "a file of 10 MB written and synchronised, where the "
                                       "state is"));
    return {};
  }

 private:
  Result<void> begin_stack(std::string name, const core::Path& folder) {
    COMMENSAL_TRY(make_folder(folder));
    COMMENSAL_ASSIGN(RealStack stack, start_real(options_, folder));
    stacks_.emplace_back(std::move(name), std::move(stack));
    return {};
  }

  Result<void> begin_echo() {
    COMMENSAL_ASSIGN(Part first,
                     Part::start("relay", [](const Part::Side& side) { return relay(side, 1); }));
    echo_.push_back(std::move(first));
    COMMENSAL_ASSIGN(Part second, Part::start("echo", [&](const Part::Side& side) {
                       return echo(side, echo_[0].said(), kAnswerBytes);
                     }));
    echo_.push_back(std::move(second));
    return {};
  }

  Result<std::vector<double>> disk_rates() const {
    const core::Bytes bytes(static_cast<std::size_t>(kBytes), 1);
    const core::Path file = options_.folder / "large.bin";
    std::vector<double> rates;
    for (int i = 0; i < kWrites; ++i) {
      const std::int64_t since_ns = clock_.monotonic_ns();
      COMMENSAL_TRY(core::write_file_atomically(file, bytes, 0600, core::ReadAgain::kSeldom));
      rates.push_back(kBytes / static_cast<double>(clock_.monotonic_ns() - since_ns));
    }
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    return rates;
  }

  const ServeBenchOptions& options_;
  const core::Clock& clock_;
  std::vector<std::pair<std::string, RealStack>> stacks_;
  std::vector<Part> echo_;
};

}  // namespace

std::unique_ptr<Stage> large_stage(const ServeBenchOptions& options, const core::Clock& clock) {
  return std::make_unique<Large>(options, clock);
}

}  // namespace commensal::lab::bench::serve
