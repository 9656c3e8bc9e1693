// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/spot_options.hpp>
#include <apps/common/summary.hpp>
#include <commensal/verify/spot/sheet.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

/// Of a replay's operations: from about here on a spot check is no cheaper than one, as measured
/// (docs/verification.md): what lies about singly takes longer.
constexpr double kShareWorthwhile = 0.05;

double share_of_ops(const spot::ConeWork& work) {
  return static_cast<double>(work.ops) / static_cast<double>(work.ops_of_all);
}

double chance(const SpotOutcome& outcome) {
  const spot::SpotReport& report = outcome.found.report;
  return spot::chance_to_find(outcome.wrong_share, report.total(), report.elements);
}

/// An element as people read it.
std::string value_of(tensor::DType dtype, std::uint64_t bits) {
  auto sheet = spot::Sheet::of({dtype, {1}});
  if (!sheet) return "";
  sheet->put(0, bits);
  return first_values(sheet->tensor(), 1).at(0);
}

Json first_json(const receipt::Opening& opening, const spot::SpotReport& report) {
  if (!report.first) return nullptr;
  const spot::SpotDifference& first = *report.first;
  Json made = {{"output", opening.outputs[first.output].name}};
  if (first.element < 0) return made;
  made["element"] = first.element;
  made["committed"] = spot::hex_of(first.type.dtype, first.claimed);
  made["computed"] = spot::hex_of(first.type.dtype, first.computed);
  return made;
}

void print_cost(const SpotOutcome& outcome) {
  const spot::ConeWork& work = outcome.found.report.work;
  if (work.ops_of_all == 0) return;
  fmt::print("cost      {} of {} operations of a replay ({:.3g} %), for {} elements on the way\n",
             work.ops, work.ops_of_all, 100 * share_of_ops(work), work.elements);
  if (outcome.replay_s) {
    fmt::print("          {:.3f} s of processors, a replay {:.3f} s: {:.3g} times as much\n",
               outcome.spot_s, *outcome.replay_s, *outcome.replay_s / outcome.spot_s);
  }
  if (share_of_ops(work) < kShareWorthwhile) return;
  fmt::print(
      "note      these elements depend on much of the model: an audit in full, without --elements, "
      "is cheaper and finds any wrong bit\n");
}

}  // namespace

void SpotOptions::declare(CLI::App& app) {
  elements_given_ =
      app.add_option("--elements", elements,
                     "Compute only so many random elements of the outputs again, not all")
          ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  share_given_ = app.add_option("--wrong-share", wrong_share,
                                "For --miss or the verdict: of the elements that are wrong")
                     ->capture_default_str();
  miss_given_ =
      app.add_option("--miss", miss, "As many elements as find such an answer but for this chance")
          ->excludes(elements_given_);
  app.add_flag("--beside-replay", beside_replay,
               "Check all of it besides, and print what either costs");
}

Result<std::optional<std::uint64_t>> SpotOptions::count() const {
  const auto given = [](const CLI::Option* option) { return option != nullptr && *option; };
  if (given(miss_given_)) {
    COMMENSAL_ASSIGN(const std::uint64_t made, spot::samples_for({wrong_share, miss}));
    return made;
  }
  if (given(elements_given_)) {
    COMMENSAL_TRY(spot::samples_for({.fraction = wrong_share}));
    return elements;
  }
  if (!given(share_given_) && !beside_replay) return std::nullopt;
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "{} needs --elements K, or --wrong-share F and --miss E",
                    given(share_given_) ? "--wrong-share" : "--beside-replay");
}

Json spot_json(const receipt::Opening& opening, const SpotOutcome& outcome) {
  const spot::SpotReport& report = outcome.found.report;
  Json outputs = Json::object();
  for (std::size_t o = 0; o < report.checked.size(); ++o) {
    const tensor::NamedTensor& output = opening.outputs[o];
    outputs[output.name] = {{"checked", report.checked[o]}, {"of", output.value.elements()}};
  }
  Json cost = {{"operations", report.work.ops},
               {"operations_of_replay", report.work.ops_of_all},
               {"elements_computed", report.work.elements},
               {"processor_s", outcome.spot_s}};
  cost["replay_processor_s"] = outcome.replay_s ? Json(*outcome.replay_s) : Json(nullptr);
  return {{"elements",
           {{"checked", report.total()},
            {"of", report.elements},
            {"outputs", outputs},
            {"wrong_share", outcome.wrong_share},
            {"chance_to_find", chance(outcome)},
            {"wrong", outcome.found.wrong},
            {"first", first_json(opening, report)}}},
          {"cost", cost}};
}

void print_spot(const receipt::Opening& opening, const SpotOutcome& outcome) {
  const spot::SpotReport& report = outcome.found.report;
  for (std::size_t o = 0; o < report.checked.size(); ++o) {
    const tensor::NamedTensor& output = opening.outputs[o];
    fmt::print("checked   {} of {} elements of '{}'\n", report.checked[o], output.value.elements(),
               output.name);
  }
  print_cost(outcome);
  if (outcome.found.matches()) {
    fmt::print(
        "MATCH of {} elements: an answer of which {:.3g} % is wrong is found with a chance of at "
        "least {:.4g}\n",
        report.total(), 100 * outcome.wrong_share, chance(outcome));
    return;
  }
  std::string values;
  if (report.first && report.first->element >= 0) {
    const tensor::DType dtype = report.first->type.dtype;
    values = fmt::format(" ({}, not {})", value_of(dtype, report.first->computed),
                         value_of(dtype, report.first->claimed));
  }
  fmt::print("MISMATCH: {}{}\n", outcome.found.wrong, values);
}

}  // namespace commensal::apps
