// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/bench/serve/simple_model.hpp>
#include <commensal/lab/bench/serve/stage.hpp>

namespace commensal::lab::bench::serve {
namespace {

using core::Result;

constexpr const char* kModel = "operator/head";
constexpr std::int64_t kElements = 2'500'000;  // binary32: 10 MB
constexpr double kBytes = 4.0 * kElements;

/// 10 MB in, one element out, one request at a time.
class Large final : public Stage {
 public:
  Large(const ServeBenchOptions& options, const core::Clock& clock)
      : options_(options), clock_(clock) {}

  Result<void> begin() override {
    const core::Path folder = options_.folder / "large";
    COMMENSAL_TRY(make_folder(folder));
    COMMENSAL_ASSIGN(stack_, start_real(options_, folder));
    return {};
  }

  Result<void> measure(Report& report) override {
    COMMENSAL_TRY(push(stack_.place, kModel, head_model()));
    const std::vector<RawInput> inputs = {
        {.name = "X",
         .datatype = "FP32",
         .shape = {kElements},
         .bytes = std::string(static_cast<std::size_t>(kBytes), '\0')}};
    const std::string http = stack_.place.http.substr(std::string_view("http://").size());
    std::vector<Party> parties;
    parties.push_back({"large_grpc",
                       {},
                       grpc_load(question_at(stack_.place, grpc_request(kModel, inputs)), clock_)});
    parties.push_back(
        {"large_rest", {}, http_load(http, http_request(stack_.place, kModel, inputs), clock_)});
    for (const Party& party : parties) COMMENSAL_TRY(wait_for(*party.load));
    COMMENSAL_ASSIGN(const Slices slices, in_turn(parties, 1, options_));
    const std::string how = fmt::format(
        "10 MB in, one element out, one at a time, {} slices of "
        "{} ms",
        options_.rounds, options_.slice_ms);
    for (std::size_t i = 0; i < parties.size(); ++i) {
      const auto rate = [](const Slice& slice) { return kBytes / (slice.loaded.p50_us * 1e3); };
      report.rows.push_back(
          row_at_least(parties[i].name + "_gb_per_s", 0.4, each(slices[i], rate), how));
    }
    return {};
  }

 private:
  const ServeBenchOptions& options_;
  const core::Clock& clock_;
  RealStack stack_;
};

}  // namespace

std::unique_ptr<Stage> large_stage(const ServeBenchOptions& options, const core::Clock& clock) {
  return std::make_unique<Large>(options, clock);
}

}  // namespace commensal::lab::bench::serve
