// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/lab/bench/serve/simple_model.hpp>
#include <commensal/lab/bench/serve/stage.hpp>

namespace commensal::lab::bench::serve {
namespace {

using core::Result;

constexpr const char* kModel = "operator/simple";
constexpr std::size_t kConcurrency = 64;
constexpr double kMib = 1 << 20;

/// What both daemons hold after a tenth of the requests, and after all; and, of more requests than
/// receipts are kept, since the book of receipts is full, up to where it grows by design.
class Memory final : public Stage {
 public:
  Memory(const ServeBenchOptions& options, const core::Clock& clock)
      : options_(options), clock_(clock) {}

  Result<void> begin() override {
    const core::Path folder = options_.folder / "memory";
    COMMENSAL_TRY(make_folder(folder));
    COMMENSAL_ASSIGN(stack_, start_real(options_, folder));
    return {};
  }

  Result<void> measure(Report& report) override {
    COMMENSAL_TRY(push(stack_.place, kModel, simple_model()));
    const std::string zeros(64, '\0');
    const auto load = grpc_load(
        question_at(stack_.place, grpc_request(kModel, {{"INPUT0", "INT32", {1, 16}, zeros},
                                                        {"INPUT1", "INT32", {1, 16}, zeros}})),
        clock_);
    COMMENSAL_TRY(wait_for(*load));
    std::size_t asked = 0;
    std::vector<double> held_mib;       // after slices
    std::optional<std::size_t> filled;  // of these, the first with as many receipts as are kept
    const std::size_t tenth = std::max<std::size_t>(1, options_.requests / 10);
    while (asked < options_.requests) {
      COMMENSAL_TRY(ask(*load, asked / tenth * tenth + tenth, asked));
      if (!filled && asked >= limits::kReceiptsMax) filled = held_mib.size();
      held_mib.push_back(held() / kMib);
    }
    const auto ratio = [&](std::size_t from) { return held_mib.back() / held_mib[from]; };
    const std::string how = fmt::format("{} requests, {} under way", asked, kConcurrency);
    report.rows.push_back(row_at_most("memory_after_a_tenth_mib", {}, {held_mib.front()}, how));
    report.rows.push_back(row_at_most("memory_at_the_end_mib", {}, {held_mib.back()}, how));
    report.rows.push_back(row_at_most("memory_growth_ratio", 1.05, {ratio(0)}, how));
    if (filled && *filled + 1 < held_mib.size()) {
      report.rows.push_back(
          row_at_most("memory_growth_ratio_of_a_full_book", 1.05, {ratio(*filled)},
                      fmt::format("{}; since {} receipts are there, as many as are kept", how,
                                  limits::kReceiptsMax)));
    }
    return {};
  }

 private:
  Result<void> ask(Load& load, std::size_t until, std::size_t& asked) const {
    while (asked < until) {
      COMMENSAL_ASSIGN(const Loaded loaded, load.run(kConcurrency, options_.slice_ms));
      asked += loaded.answers;
    }
    return {};
  }
  double held() const {
    std::int64_t bytes = 0;
    for (const Part& part : stack_.parts) bytes += part.memory_bytes();
    return static_cast<double>(bytes);
  }

  const ServeBenchOptions& options_;
  const core::Clock& clock_;
  RealStack stack_;
};

}  // namespace

std::unique_ptr<Stage> memory_stage(const ServeBenchOptions& options, const core::Clock& clock) {
  return std::make_unique<Memory>(options, clock);
}

}  // namespace commensal::lab::bench::serve
