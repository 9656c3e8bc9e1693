// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/common/command.hpp>
#include <commensal/collocation/planner/plan.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct PlanArguments {
  std::string host;
  std::vector<std::string> guests;
  std::string device = "auto";
  bool json = false;
};

Json json_of(const planner::Seat& seat) {
  return {{"name", seat.name}, {"where", seat.where}, {"rate", seat.rate}};
}

Json json_of(const planner::Candidate& one) {
  Json guests = Json::array();
  for (const planner::Seat& seat : one.guests) guests.push_back(json_of(seat));
  return {{"mode", planner::name_of(one.mode)},
          {"possible", one.is_possible},
          {"host_loss", one.host_loss},
          {"worth", one.worth},
          {"memory_gib", one.memory_gib},
          {"memory_room_gib", one.memory_room},
          {"host", one.host ? json_of(*one.host) : Json()},
          {"guests", guests},
          {"why_not", one.why}};
}

Json json_of(const planner::Plan& plan) {
  Json candidates = Json::array();
  for (const planner::Candidate& one : plan.candidates) candidates.push_back(json_of(one));
  return {{"device", plan.device},
          {"winner", planner::name_of(plan.candidates[plan.winner].mode)},
          {"candidates", candidates}};
}

void print_row(const planner::Candidate& one, bool has_host, bool wins) {
  std::string memory = "-";
  if (one.memory_room > 0)
    memory = fmt::format("{:.1f} of {:.1f}", one.memory_gib, one.memory_room);
  std::string loss = "-";
  if (has_host && one.is_possible) loss = fmt::format("{:.2f} %", 100 * one.host_loss);
  const std::string worth = one.is_possible ? fmt::format("{:.3f}", one.worth) : "-";
  fmt::print("{:<11} {:>14} {:>10} {:>8}   {}\n", planner::name_of(one.mode), memory, loss, worth,
             wins ? "chosen" : one.why);
}

/// What a rate is in the profile's own unit, if it says one.
std::string in_units(const planner::Profile& profile, double rate, std::string_view device) {
  const auto seen = planner::rebased(profile, device);
  if (!seen || !seen->rate) return "";
  return fmt::format(" = {:.4g} {}", rate * *seen->rate,
                     profile.unit.empty() ? "units/s" : profile.unit + "/s");
}

void print(const planner::Plan& plan, const planner::PlanRequest& request) {
  fmt::print("{:<11} {:>14} {:>10} {:>8}   {}: {}\n", "mode", "GiB", "host loss", "worth",
             plan.device, "why not");
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    print_row(plan.candidates[i], request.host.has_value(), i == plan.winner);
  }
  const planner::Candidate& winner = plan.candidates[plan.winner];
  fmt::print("\n{}:\n", planner::name_of(winner.mode));
  const auto print_seat = [&](const char* role, const planner::Seat& seat,
                              const planner::Profile& profile) {
    fmt::print("  {:<6} {:<24} {:<34} {:.3f} of alone{}\n", role, seat.name, seat.where, seat.rate,
               in_units(profile, seat.rate, plan.device));
  };
  if (winner.host) print_seat("host", *winner.host, *request.host);
  for (std::size_t i = 0; i < winner.guests.size(); ++i) {
    print_seat("guest", winner.guests[i], request.guests[i]);
  }
  fmt::print("\nPredicted from the profiles; docs/collocation.md says what is assumed.\n");
}

Result<int> run(const PlanArguments& options) {
  planner::PlanRequest request;
  request.device = options.device;
  if (!options.host.empty()) {
    COMMENSAL_ASSIGN(request.host, planner::read_profile(options.host));
  }
  for (const std::string& path : options.guests) {
    COMMENSAL_ASSIGN(planner::Profile guest, planner::read_profile(path));
    request.guests.push_back(std::move(guest));
  }
  COMMENSAL_ASSIGN(const planner::Plan plan, planner::make_plan(request));
  if (options.json) {
    fmt::print("{}\n", json_of(plan).dump(2));
  } else {
    print(plan, request);
  }
  return 0;
}

}  // namespace

Run declare_plan(CLI::App& app) {
  const auto options = std::make_shared<PlanArguments>();
  app.add_option("--host", options->host, "The profile of what runs there already (YAML)");
  app.add_option("--guest", options->guests, "The profile of a guest (YAML); may be repeated")
      ->required();
  app.add_option("--device", options->device,
                 "The device, as 'commensal profile --list' names it; auto: that of the profiles")
      ->capture_default_str();
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
