// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/lab/bench/serve/simple_model.hpp>
#include <commensal/lab/bench/serve/stage.hpp>

namespace commensal::lab::bench::serve {
namespace {

using core::Result;

constexpr const char* kModel = "operator/simple";
constexpr std::size_t kConcurrency = 64;
constexpr std::size_t kTenths = 10;
constexpr double kMib = 1 << 20;

/// What both daemons hold after each tenth of the requests. The book of receipts grows until it has
/// limits::kReceiptsMax: what must not grow is all else, and the book from then on.
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
    std::vector<double> tenths;
    std::size_t full = 0;  // the tenth after which as many receipts are kept as ever are
    for (std::size_t tenth = 1; tenth <= kTenths; ++tenth) {
      const std::size_t before = asked;
      COMMENSAL_TRY(ask(*load, options_.requests / kTenths * tenth, asked));
      if (asked == before)
        return core::fail(core::ErrorCode::kInvalidArgument,
                          "memory: a slice asks more than a tenth of --requests: expected more");
      if (asked < limits::kReceiptsMax) full = tenth;
      tenths.push_back(held());
      report.rows.push_back(row_at_most(fmt::format("memory_after_{}_tenths_mib", tenth), {},
                                        {tenths.back() / kMib}, fmt::format("{} requests", asked)));
    }
    const bool fills = full + 1 < kTenths;
    const double early = tenths[fills ? full : 0];
    report.rows.push_back(row_at_most(
        "memory_growth_ratio", 1.05, {tenths.back() / early},
        fmt::format("{} requests, {} under way; from {}", asked, kConcurrency,
                    fills ? fmt::format("the tenth on that ends with all {} receipts that are kept",
                                        limits::kReceiptsMax)
                          : "the first tenth on, while the book of receipts fills")));
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
