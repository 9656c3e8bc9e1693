// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <commensal/collocation/guest/metrics.hpp>
#include <nlohmann/json.hpp>

namespace commensal::guest {
namespace {

using Json = nlohmann::json;

/// A metric with one figure for the machine: where it is in the status.
struct Metric {
  const char* name;
  const char* type;
  const char* part;
  const char* field;
  const char* help;
};

constexpr Metric kMetrics[] = {
    {"commensal_host_rate", "gauge", "host", "rate", "Rate of the host's work a second, last seen"},
    {"commensal_host_reference", "gauge", "host", "reference",
     "Rate of the host's work a second without guests, last measured"},
    {"commensal_host_loss", "gauge", "host", "loss",
     "Share of its work that guests cost the host in this hour so far"},
    {"commensal_host_loss_upper", "gauge", "host", "loss_upper",
     "Upper end of commensal_host_loss at the confidence"},
    {"commensal_host_loss_promised", "gauge", "host", "promise",
     "Share of an hour's work that guests may cost the host at most"},
    {"commensal_host_minute_loss_promised", "gauge", "host", "promise_minute",
     "Share of any minute's work that guests may cost the host at most"},
    {"commensal_host_loss_confidence", "gauge", "host", "confidence",
     "Confidence of commensal_host_loss_upper, one-sided"},
    {"commensal_host_loss_shown", "gauge", "host", "is_shown",
     "1 if this hour's loss is shown to be within the promise"},
    {"commensal_host_hour_seconds", "gauge", "host", "hour_s",
     "This hour so far, over which the loss is told"},
    {"commensal_host_changes_total", "counter", "host", "changes",
     "Jumps of the host's rate by itself"},
    {"commensal_host_income_per_hour", "gauge", "income", "host_per_hour",
     "What the host earns an hour, as its owner says"},
    {"commensal_host_income_loss_per_hour", "gauge", "income", "host_loses_per_hour",
     "What it would lose of that by guests at full speed: believed, and a deviation"},
    {"commensal_guests_income_per_hour", "gauge", "income", "guests_per_hour",
     "What guests earned, over their last hour"},
    {"commensal_guests_income_full_per_hour", "gauge", "income", "guests_at_full_speed_per_hour",
     "What they would earn an hour at full speed"},
    {"commensal_governor_budget_ratio", "gauge", "governor", "budget",
     "Level of the guests on average, of full speed"},
    {"commensal_governor_cost_ratio", "gauge", "governor", "cost",
     "Share of its work that guests at full speed would cost the host at once"},
    {"commensal_governor_cost_deviation", "gauge", "governor", "cost_sd",
     "Standard deviation of commensal_governor_cost_ratio"},
    {"commensal_governor_lag_ratio", "gauge", "governor", "lag",
     "Share that guests at full speed would cost the host late"},
    {"commensal_governor_explored_seconds", "gauge", "governor", "explored_s",
     "Of the host's work, spent this hour on learning what guests cost"},
    {"commensal_governor_level_ratio", "gauge", "governor", "level",
     "Level of the guests now, of full speed"},
    {"commensal_governor_trips_total", "counter", "governor", "trips",
     "Times that the guests were stopped because the host lost too much"},
    {"commensal_machine_energy_joules_total", "counter", "energy", "joules",
     "Energy of the processor packages since the governor began"},
    {"commensal_machine_power_watts", "gauge", "energy", "watts",
     "Power of the processor packages, lately"},
};

struct GuestMetric {
  const char* name;
  const char* type;
  const char* field;
  const char* help;
};

constexpr GuestMetric kGuestMetrics[] = {
    {"commensal_guest_weight", "gauge", "weight", "Weight of a guest beside the others"},
    {"commensal_guest_threads", "gauge", "threads", "Threads that a guest computes on"},
    {"commensal_guest_level_ratio", "gauge", "level", "Level of a guest now, of its full speed"},
    {"commensal_guest_requests_total", "counter", "served", "Requests that a guest has served"},
    {"commensal_guest_requests_per_second", "gauge", "served_per_s",
     "Requests that a guest served a second, over its last minute"},
    {"commensal_guest_earnings_per_hour", "gauge", "earned_per_hour",
     "Expected value of a guest's tickets an hour, in the ledger's unit"},
};

void head(std::string& out, const char* name, const char* type, const char* help) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

/// A label's value, as the format wants it.
std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') made += '\\';
    made += c == '\n' ? ' ' : c;
  }
  return made + "\"";
}

/// The shortest text that reads as the same number; a truth as 0 or 1.
std::string figure(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return fmt::format("{}", value.get<double>());
}

const Json* find(const Json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end()) return nullptr;
  return found->is_number() || found->is_boolean() ? &*found : nullptr;
}

std::string text_in(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

core::Result<std::string> metrics_of(const std::string& status_line) {
  const Json line = Json::parse(status_line, nullptr, false);
  const Json status = line.is_object() ? line.value("status", Json()) : Json();
  const Json host = status.is_object() ? status.value("host", Json()) : Json();
  const Json guests = status.is_object() ? status.value("guests", Json()) : Json();
  if (!host.is_object() || !guests.is_array()) {
    return core::fail(core::ErrorCode::kDataLoss, "the governor's answer is no status");
  }
  std::string out;
  const std::string unit = quoted(text_in(host, "unit"));
  for (const Metric& metric : kMetrics) {
    const auto part = status.find(metric.part);
    const Json* value = part == status.end() ? nullptr : find(*part, metric.field);
    if (value == nullptr) continue;
    head(out, metric.name, metric.type, metric.help);
    const bool is_work =
        metric.field == std::string_view("rate") || metric.field == std::string_view("reference");
    out += fmt::format("{}{} {}\n", metric.name,
                       is_work ? fmt::format("{{unit={}}}", unit) : std::string(), figure(*value));
  }
  if (const auto governor = status.find("governor"); governor != status.end()) {
    head(out, "commensal_governor_waits", "gauge", "What the governor is about, and why");
    out += fmt::format("commensal_governor_waits{{phase={},why={}}} 1\n",
                       quoted(text_in(*governor, "phase")), quoted(text_in(*governor, "why")));
  }
  head(out, "commensal_guests", "gauge", "Guests of this machine");
  out += fmt::format("commensal_guests {}\n", guests.size());
  for (const GuestMetric& metric : kGuestMetrics) {
    std::string rows;
    for (const Json& guest : guests) {
      const Json* value = find(guest, metric.field);
      const Json* pid = find(guest, "pid");
      if (value == nullptr || pid == nullptr) continue;
      rows += fmt::format("{}{{pid=\"{}\",name={}}} {}\n", metric.name, pid->get<int>(),
                          quoted(text_in(guest, "name")), figure(*value));
    }
    if (rows.empty()) continue;
    head(out, metric.name, metric.type, metric.help);
    out += rows;
  }
  return out;
}

}  // namespace commensal::guest
