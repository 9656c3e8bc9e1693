// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <apps/commensal/provider_status.hpp>
#include <apps/common/service.hpp>
#include <commensal/collocation/guest/guest_client.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWatchMs = 1000;
constexpr const char* kUnknown = "not known yet";

const Json& at(const Json& from, const char* key) {
  static const Json kNothing;
  const auto found = from.find(key);
  return found == from.end() ? kNothing : *found;
}

std::string number(const Json& value, const std::string& unit = "", double scale = 1) {
  if (!value.is_number()) return kUnknown;
  return fmt::format("{:.6g}{}", value.get<double>() * scale, unit);
}

std::string percent(const Json& value) {
  if (!value.is_number()) return kUnknown;
  return fmt::format("{:.2f} %", 100 * value.get<double>());
}

std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

void row(std::string& page, const char* name, const std::string& value) {
  page += fmt::format("{:<12} {}\n", name, value);
}

std::string host_part(const Json& host) {
  std::string page;
  const std::string unit = " " + text(at(host, "unit")) + "/s";
  row(page, "host", text(at(host, "spec")));
  if (at(host, "promise").is_number()) {
    const bool is_weighed = at(host, "promise_income") == true;
    row(page, "  may lose",
        fmt::format("at most {} of an hour and {} of any minute{}",
                    number(at(host, "promise"), " %", 100),
                    number(at(host, "promise_minute"), " %", 100),
                    is_weighed ? ", and less than guests earn" : ""));
  }
  row(page, "  rate", number(at(host, "rate"), unit));
  row(page, "  alone", number(at(host, "reference"), unit));
  const bool is_shown = at(host, "is_shown") == true;
  const Json& confidence = at(host, "confidence");
  row(page, "  lost",
      at(host, "loss").is_number()
          ? fmt::format("{}, at most {} at {:.0f} % confidence, over {}{}",
                        percent(at(host, "loss")), percent(at(host, "loss_upper")),
                        confidence.is_number() ? 100 * confidence.get<double>() : 0,
                        number(at(host, "hour_s"), " s"), is_shown ? "" : " (not shown yet)")
          : kUnknown);
  if (at(host, "scatter").is_number()) {
    row(page, "  scatter",
        fmt::format("{} over 4 s, of it {} by who else is on the machine",
                    percent(at(host, "scatter")), percent(at(host, "scatter_not_given"))));
  }
  if (!text(at(host, "signal")).empty()) row(page, "  no signal", text(at(host, "signal")));
  return page;
}

std::string energy_of(const Json& energy) {
  if (at(energy, "is_counted") == false) return "no counter here";
  if (!at(energy, "joules").is_number()) return kUnknown;
  return number(at(energy, "joules"), " J, ") + number(at(energy, "watts"), " W");
}

std::string income_part(const Json& income) {
  std::string page;
  if (at(income, "host_per_hour").is_number()) {
    row(page, "host earns", number(at(income, "host_per_hour"), " an hour"));
    row(page, "  loses",
        number(at(income, "host_loses_per_hour"), " of it, by guests at full speed"));
  } else {
    row(page, "host earns", "not told (--host-income-per-hour)");
  }
  row(page, "guests earn", number(at(income, "guests_per_hour"), " an hour"));
  row(page, "  at full", number(at(income, "guests_at_full_speed_per_hour"), " an hour"));
  return page;
}

std::string guests_part(const Json& guests) {
  std::string page =
      fmt::format("\n{:>8}  {:<20} {:>7} {:>7} {:>9} {:>9} {:>12} {:>12}\n", "pid", "guest",
                  "weight", "threads", "level", "served", "requests/s", "earns/hour");
  const auto cell = [](const Json& value) { return value.is_number() ? number(value) : "-"; };
  for (const Json& guest : guests) {
    page += fmt::format("{:>8}  {:<20} {:>7} {:>7} {:>9} {:>9} {:>12} {:>12}\n",
                        cell(at(guest, "pid")), text(at(guest, "name")).substr(0, 20),
                        cell(at(guest, "weight")), cell(at(guest, "threads")),
                        percent(at(guest, "level")), cell(at(guest, "served")),
                        cell(at(guest, "served_per_s")), cell(at(guest, "earned_per_hour")));
  }
  return page;
}

}  // namespace

core::Result<std::string> status_page(const std::string& line) {
  const Json parsed = Json::parse(line, nullptr, false);
  const Json& status = at(parsed, "status");
  if (!status.is_object() || !at(status, "guests").is_array()) {
    return core::fail(core::ErrorCode::kDataLoss, "the governor's answer is no status");
  }
  const Json& governor = at(status, "governor");
  std::string page = host_part(at(status, "host"));
  const std::string why = text(at(governor, "why"));
  row(page, "guests", text(at(governor, "phase")) + (why.empty() ? "" : ": " + why));
  row(page, "  budget", percent(at(governor, "budget")));
  row(page, "  level", percent(at(governor, "level")));
  const Json& sd = at(governor, "cost_sd");
  row(page, "  cost",
      sd.is_number() ? fmt::format("{} of the host's work at full speed, give or take {}",
                                   percent(at(governor, "cost")), percent(sd))
                     : kUnknown);
  row(page, "  trips", number(at(governor, "trips")));
  row(page, "energy", energy_of(at(status, "energy")));
  return page + income_part(at(status, "income")) + guests_part(at(status, "guests"));
}

CLI::App* StatusOptions::declare(CLI::App& provider) {
  CLI::App* app =
      provider.add_subcommand("status", "What this machine's governor says of host and guests");
  app->add_flag("--json", json, "Print JSON, a line each time");
  app->add_flag("--watch", watch, "Again every second, until it is stopped");
  return app;
}

core::Result<int> StatusOptions::run() const {
  const core::SystemClock clock;
  const auto show = [&]() -> core::Result<int> {
    COMMENSAL_ASSIGN(const std::string line, guest::ask_status(guest::runtime_folder(), clock));
    COMMENSAL_ASSIGN(const std::string page, status_page(line));
    const bool is_screen = watch && ::isatty(STDOUT_FILENO) == 1;
    if (is_screen) fmt::print("\x1b[H\x1b[2J");
    fmt::print("{}", json ? Json::parse(line).at("status").dump() + "\n" : page);
    std::fflush(stdout);
    return 0;
  };
  if (!watch) return show();
  hold_signals();
  COMMENSAL_TRY(show());
  wait_for_signal(kWatchMs, [&] {
    const auto shown = show();  // a governor may go and another come
    if (!shown) fmt::print(stderr, "{}\n", shown.error().message);
    return true;
  });
  return 0;
}

}  // namespace commensal::apps
