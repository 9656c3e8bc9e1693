// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/guest/messages.hpp>
#include <commensal/collocation/probe/spec.hpp>
#include <nlohmann/json.hpp>

namespace commensal::guest {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Rates and times of 0 are those that nobody has measured yet.
Json measured(double value) { return value > 0 ? Json(value) : Json(nullptr); }

constexpr double kPromiseMin = 1e-9;  // of a share: what is none is nothing to divide by

Result<double> number(const Json& from, const char* key, double least, double most) {
  const auto found = from.find(key);
  if (found != from.end() && found->is_number()) {
    const double value = found->get<double>();
    if (value >= least && value <= most) return value;
  }
  return fail(ErrorCode::kInvalidArgument, "'{}' is no number from {} to {}", key, least, most);
}

Result<std::optional<double>> number_or_null(const Json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end() || found->is_null()) return std::optional<double>();
  COMMENSAL_ASSIGN(const double value, number(from, key, 0, 1e30));
  return std::optional(value);
}

Result<std::string> text(const Json& from, const char* key, std::size_t bytes_max) {
  const auto found = from.find(key);
  if (found != from.end() && found->is_string()) {
    auto value = found->get<std::string>();
    if (value.size() <= bytes_max) return value;
  }
  return fail(ErrorCode::kInvalidArgument, "'{}' is no text of at most {} bytes", key, bytes_max);
}

/// The only member of the object that a line is: what is said, and its content.
struct Said {
  std::string what;
  Json content;
};
Result<Said> parse(const std::string& line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object() || object.size() != 1) {
    return fail(ErrorCode::kInvalidArgument, "a line is no JSON object with one member");
  }
  return Said{object.begin().key(), object.begin().value()};
}

Json json_of(const Promise& promise) {
  return {{"hour", promise.hour}, {"minute", promise.minute}, {"income", maybe(promise.income)}};
}

/// None: who said so is of an older build, or does not mind.
Result<std::optional<Promise>> promise_in(const Json& from) {
  const auto found = from.find("promise");
  if (found == from.end() || found->is_null()) return std::optional<Promise>();
  Promise made;
  COMMENSAL_ASSIGN(made.hour, number(*found, "hour", kPromiseMin, 1));
  COMMENSAL_ASSIGN(made.minute, number(*found, "minute", made.hour, 1));
  COMMENSAL_ASSIGN(made.income, number_or_null(*found, "income"));
  return std::optional(made);
}

Result<Join> join_of(const Json& from) {
  Join made;
  COMMENSAL_ASSIGN(const double pid, number(from, "pid", 1, 1 << 30));
  COMMENSAL_ASSIGN(made.name, text(from, "name", limits::kGuestNameBytesMax));
  COMMENSAL_ASSIGN(made.weight, number(from, "weight", 1, kWeightMax));
  COMMENSAL_ASSIGN(const double threads, number(from, "threads", 1, kThreadsMax));
  COMMENSAL_ASSIGN(made.asked, promise_in(from));
  made.pid = static_cast<int>(pid);
  made.threads = static_cast<int>(threads);
  return made;
}

Result<Report> report_of(const Json& from) {
  Report made;
  const auto wants = from.find("wants");
  if (wants == from.end() || !wants->is_boolean()) {
    return fail(ErrorCode::kInvalidArgument, "'wants' is neither true nor false");
  }
  made.wants = wants->get<bool>();
  COMMENSAL_ASSIGN(const double served, number(from, "served", 0, 1e15));
  made.served = static_cast<std::uint64_t>(served);
  COMMENSAL_ASSIGN(made.served_per_s, number_or_null(from, "served_per_s"));
  COMMENSAL_ASSIGN(made.earned_per_hour, number_or_null(from, "earned_per_hour"));
  return made;
}

Json json_of(const Join& join) {
  return {
      {"pid", join.pid}, {"name", join.name}, {"weight", join.weight}, {"threads", join.threads}};
}

Json json_of(const Report& report) {
  return {{"wants", report.wants},
          {"served", report.served},
          {"served_per_s", maybe(report.served_per_s)},
          {"earned_per_hour", maybe(report.earned_per_hour)}};
}

Json json_of(const GuestStatus& guest) {
  Json made = json_of(guest.guest);
  made["level"] = guest.level;
  made.update(json_of(guest.report));
  return made;
}

}  // namespace

Result<ToGovernor> parse_to_governor(const std::string& line) {
  COMMENSAL_ASSIGN(const Said said, parse(line));
  if (said.what == "join") return join_of(said.content);
  if (said.what == "report") return report_of(said.content);
  if (said.what == "ask" && said.content == "status") return Ask{};
  return fail(ErrorCode::kInvalidArgument, "the governor of a machine knows no '{}'", said.what);
}

std::string line_of(const Join& join) {
  Json made = json_of(join);
  if (join.asked) made["promise"] = json_of(*join.asked);
  return text_of({{"join", made}});
}
std::string line_of(const Report& report) { return text_of({{"report", json_of(report)}}); }
std::string line_of(const Ask&) { return text_of({{"ask", "status"}}); }

Result<ToGuest> parse_to_guest(const std::string& line) {
  COMMENSAL_ASSIGN(const Said said, parse(line));
  if (said.what == "joined") {
    COMMENSAL_ASSIGN(std::string host, text(said.content, "host", limits::kGuestLineBytesMax));
    COMMENSAL_ASSIGN(const auto promise, promise_in(said.content));
    return Joined{std::move(host), promise.value_or(Promise{})};
  }
  if (said.what == "level") {
    COMMENSAL_ASSIGN(const double level, number(Json({{"level", said.content}}), "level", 0, 1));
    return Level{level};
  }
  return fail(ErrorCode::kInvalidArgument, "a guest knows no '{}'", said.what);
}

std::string line_of(const Joined& joined) {
  return text_of({{"joined", {{"host", joined.host}, {"promise", json_of(joined.promise)}}}});
}
std::string line_of(const Level& level) { return text_of({{"level", level.level}}); }

std::string line_of(const Status& status) {
  const governor::Status& now = status.governor;
  Json guests = Json::array();
  for (const GuestStatus& guest : status.guests) guests.push_back(json_of(guest));
  const auto if_known = [&now](double value) { return now.hour_s > 0 ? Json(value) : Json(); };
  const Json content = {{"host",
                         {{"spec", probe::without_token(status.host)},
                          {"unit", status.unit},
                          {"signal", status.signal},
                          {"rate", measured(now.rate)},
                          {"reference", measured(now.reference)},
                          {"loss", if_known(now.loss)},
                          {"loss_upper", if_known(now.loss_high)},
                          {"promise", status.promise.hour},
                          {"promise_minute", status.promise.minute},
                          {"promise_income", status.promise.income.has_value()},
                          {"confidence", status.confidence},
                          {"is_shown", now.is_shown},
                          {"hour_s", measured(now.hour_s)},
                          {"scatter", if_known(now.scatter)},
                          {"scatter_not_given", if_known(now.not_given)},
                          {"changes", now.changes}}},
                        {"governor",
                         {{"phase", governor::name_of(now.phase)},
                          {"why", now.why},
                          {"level", now.level},
                          {"budget", now.budget},
                          {"cost", if_known(now.cost)},
                          {"cost_sd", if_known(now.cost_sd)},
                          {"lag", if_known(now.lag)},
                          {"explored_s", now.explored_s},
                          {"trips", now.trips}}},
                        {"income",
                         {{"host_per_hour", maybe(status.incomes.host)},
                          {"host_loses_per_hour", maybe(status.incomes.host_loses)},
                          {"guests_per_hour", maybe(status.incomes.guests)},
                          {"guests_at_full_speed_per_hour", maybe(status.incomes.guests_at_full)}}},
                        {"energy",
                         {{"is_counted", status.has_energy},
                          {"joules", maybe(status.energy_j)},
                          {"watts", maybe(status.power_w)}}},
                        {"guests", guests}};
  return text_of({{"status", content}});
}

}  // namespace commensal::guest
