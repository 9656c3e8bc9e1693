// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/serve/floors.hpp>
#include <commensal/lab/bench/serve/stage.hpp>

namespace commensal::lab::bench::serve {
namespace {

using core::Result;

constexpr const char* kModel = "operator/digits";
constexpr double kMsPerUs = 1e-3;

/// The digit network, one request after the other: directly, and over gateway and provider with
/// their state on the disk and where nothing waits for one.
class Added final : public Stage {
 public:
  Added(const ServeBenchOptions& options, const core::Clock& clock)
      : options_(options), clock_(clock) {}

  Result<void> begin() override {
    COMMENSAL_TRY(begin_stack("disk", options_.folder / "added"));
    if (options_.memory.empty()) return {};
    return begin_stack("memory", options_.memory / "added");
  }

  Result<void> measure(Report& report) override {
    COMMENSAL_ASSIGN(const core::Bytes model,
                     core::read_file(options_.digits, limits::kModelBytesMax));
    std::vector<Party> parties(1);
    parties[0].name = "direct";
    COMMENSAL_ASSIGN(parties[0].load, direct_load(options_.digits, clock_));
    const std::vector<RawInput> inputs = {{.name = "image",
                                           .datatype = "FP32",
                                           .shape = {1, 1, 8, 8},
                                           .bytes = std::string(256, '\0')}};
    for (const auto& [where, stack] : stacks_) {
      COMMENSAL_TRY(push(stack.place, kModel, model));
      const std::string http = stack.place.http.substr(std::string_view("http://").size());
      parties.push_back(
          {where + "_grpc",
           {},
           grpc_load(question_at(stack.place, grpc_request(kModel, inputs)), clock_)});
      parties.push_back({where + "_rest",
                         {},
                         http_load(http, http_request(stack.place, kModel, inputs), clock_)});
    }
    for (const Party& party : parties) COMMENSAL_TRY(wait_for(*party.load));
    COMMENSAL_ASSIGN(const Slices slices, in_turn(parties, 1, options_));
    write(report, parties, slices);
    return {};
  }

 private:
  Result<void> begin_stack(std::string where, const core::Path& folder) {
    COMMENSAL_TRY(make_folder(folder));
    COMMENSAL_ASSIGN(RealStack stack, start_real(options_, folder));
    stacks_.emplace_back(std::move(where), std::move(stack));
    return {};
  }

  void write(Report& report, const std::vector<Party>& parties, const Slices& slices) const {
    const std::string how = fmt::format("digit network, one at a time, {} slices of {} ms",
                                        options_.rounds, options_.slice_ms);
    const auto p50 = [](const Slice& slice) { return slice.loaded.p50_us; };
    const auto p99 = [](const Slice& slice) { return slice.loaded.p99_us; };
    for (std::size_t i = 0; i < parties.size(); ++i) {
      const std::string& name = parties[i].name;
      report.rows.push_back(row_at_most(name + "_p50_us", {}, each(slices[i], p50), how));
      report.rows.push_back(row_at_most(name + "_p99_us", {}, each(slices[i], p99), how));
    }
    if (stacks_.size() < 2) {
      report.notes.push_back(
          "no folder in memory: what is added beyond waiting for the disk is "
          "left out");
      return;
    }
    // Of the dearer face, whose state is in memory: parties 3 and 4.
    const auto added = [&](auto of) {
      std::vector<double> values;
      for (std::size_t k = 0; k < slices[0].size(); ++k)
        values.push_back(kMsPerUs *
                         (std::max(of(slices[3][k]), of(slices[4][k])) - of(slices[0][k])));
      return values;
    };
    const std::string beyond = how + "; state in memory: nothing waits for the disk";
    report.rows.push_back(row_at_most("added_p50_ms", 0.4, added(p50), beyond));
    report.rows.push_back(row_at_most("added_p99_ms", 2, added(p99), beyond));
  }

  const ServeBenchOptions& options_;
  const core::Clock& clock_;
  std::vector<std::pair<std::string, RealStack>> stacks_;
};

}  // namespace

std::unique_ptr<Stage> added_stage(const ServeBenchOptions& options, const core::Clock& clock) {
  return std::make_unique<Added>(options, clock);
}

}  // namespace commensal::lab::bench::serve
