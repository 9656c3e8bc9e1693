// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/decode.hpp>
#include <commensal/collocation/probe/spec.hpp>
#include <nlohmann/json.hpp>

namespace commensal::probe {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::json;

Result<Json> parse(std::string_view text) {
  if (text.size() > limits::kProbeBodyBytesMax)
    return fail(ErrorCode::kDataLoss, "the answer has more than {} bytes",
                limits::kProbeBodyBytesMax);
  bool is_deep = false;
  const auto bound = [&](int depth, Json::parse_event_t, Json&) {
    is_deep = is_deep || depth > limits::kProbeJsonDepthMax;
    return !is_deep;
  };
  Json json = Json::parse(text, bound, false);
  if (is_deep || json.is_discarded() || !json.is_object())
    return fail(ErrorCode::kDataLoss, "the answer is no JSON object");
  return json;
}

/// The member at a path such as "hashrate.total"; nullptr if any step is missing or no object.
const Json* find(const Json& json, std::string_view path) {
  const Json* at = &json;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    if (!at->is_object()) return nullptr;
    const auto it = at->find(std::string(path.substr(0, dot)));
    if (it == at->end()) return nullptr;
    at = &*it;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

Result<double> number(std::string_view name, const Json* json) {
  if (json == nullptr || !json->is_number())
    return fail(ErrorCode::kDataLoss, "{} is {}, expected a number", name,
                json == nullptr ? "missing" : json->type_name());
  return check_figure(name, json->get<double>());
}

/// A sign of life; no error if there is none.
std::optional<double> uptime(const Json& json, std::string_view path) {
  const auto read = number(path, find(json, path));
  return read ? std::optional(*read) : std::nullopt;
}

Result<const Json*> items(const Json& json, std::string_view path) {
  const Json* list = find(json, path);
  if (list == nullptr || !list->is_array() || list->size() > limits::kProbeDevicesMax)
    return fail(ErrorCode::kDataLoss, "{} is no list of at most {} items", path,
                limits::kProbeDevicesMax);
  if (list->empty()) return fail(ErrorCode::kUnavailable, "{} is empty: nothing is mined", path);
  return list;
}

/// The sum of one member over all items of a list.
Result<double> sum(const Json& json, std::string_view path, std::string_view member) {
  COMMENSAL_ASSIGN(const Json* const list, items(json, path));
  double total = 0;
  for (const Json& item : *list) {
    const std::string name = fmt::format("{}[].{}", path, member);
    COMMENSAL_ASSIGN(const double value, number(name, find(item, member)));
    total += value;
  }
  return check_figure(path, total);
}

Result<void> refuse_paused(const Json& json) {
  const Json* paused = find(json, "paused");
  if (paused != nullptr && paused->is_boolean() && paused->get<bool>())
    return fail(ErrorCode::kUnavailable, "the miner says that it is paused");
  return {};
}

/// "Mh/s", "GH/s", "Sol/s", "g/s": what one unit is in hashes (solutions, graphs) a second.
Result<double> factor_of(std::string_view unit) {
  constexpr std::pair<char, double> kPrefixes[] = {{'k', 1e3}, {'K', 1e3},  {'M', 1e6}, {'m', 1e6},
                                                   {'G', 1e9}, {'T', 1e12}, {'P', 1e15}};
  constexpr std::string_view kPlain[] = {"h/s", "H/s", "sol/s", "Sol/s", "g/s", "G/s"};
  for (const std::string_view plain : kPlain) {
    if (unit == plain) return 1.0;
    for (const auto& [prefix, factor] : kPrefixes) {
      if (unit.size() == plain.size() + 1 && unit[0] == prefix && unit.ends_with(plain))
        return factor;
    }
  }
  return fail(ErrorCode::kDataLoss, "Performance_Unit is '{}', expected one such as Mh/s",
              unit.substr(0, 16));
}

}  // namespace

Result<double> check_figure(std::string_view name, double value) {
  if (std::isnan(value)) return fail(ErrorCode::kDataLoss, "{} is not a number", name);
  if (value < 0) return fail(ErrorCode::kDataLoss, "{} is negative", name);
  if (value > limits::kProbeFigureMax)
    return fail(ErrorCode::kDataLoss, "{} is above {:g}", name, limits::kProbeFigureMax);
  return value;
}

Result<double> read_figure(std::string_view name, std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc::result_out_of_range)
    return fail(ErrorCode::kDataLoss, "{} is '{}': too large or too small", name,
                printable(text.substr(0, 32)));
  if (read.ec != std::errc() || read.ptr != end)
    return fail(ErrorCode::kDataLoss, "{} is '{}', expected a number", name,
                printable(text.substr(0, 32)));
  return check_figure(name, value);
}

Result<Figure> decode_xmrig(std::string_view text) {
  COMMENSAL_ASSIGN(const Json json, parse(text));
  COMMENSAL_TRY(refuse_paused(json));
  COMMENSAL_ASSIGN(const Json* const total, items(json, "hashrate.total"));
  if (total->front().is_null())
    return fail(ErrorCode::kUnavailable, "hashrate.total[0] is null: the first 10 s are not over");
  COMMENSAL_ASSIGN(const double value, number("hashrate.total[0]", &total->front()));
  return Figure{value, uptime(json, "uptime")};
}

Result<Figure> decode_lolminer(std::string_view text) {
  COMMENSAL_ASSIGN(const Json json, parse(text));
  COMMENSAL_ASSIGN(const Json* const list, items(json, "Algorithms"));
  const Json& first = list->front();
  COMMENSAL_ASSIGN(const double value,
                   number("Algorithms[0].Total_Performance", find(first, "Total_Performance")));
  const Json* unit = find(first, "Performance_Unit");
  if (unit == nullptr || !unit->is_string())
    return fail(ErrorCode::kDataLoss, "Algorithms[0].Performance_Unit is no text");
  COMMENSAL_ASSIGN(const double factor, factor_of(unit->get_ref<const std::string&>()));
  COMMENSAL_ASSIGN(const double rate,
                   check_figure("Algorithms[0].Total_Performance", value * factor));
  return Figure{rate, uptime(json, "Session.Uptime")};
}

Result<Figure> decode_trex(std::string_view text) {
  COMMENSAL_ASSIGN(const Json json, parse(text));
  COMMENSAL_TRY(refuse_paused(json));
  COMMENSAL_ASSIGN(const double value, number("hashrate", find(json, "hashrate")));
  return Figure{value, uptime(json, "uptime")};
}

Result<Figure> decode_nbminer(std::string_view text) {
  COMMENSAL_ASSIGN(const Json json, parse(text));
  COMMENSAL_ASSIGN(const double value,
                   number("miner.total_hashrate_raw", find(json, "miner.total_hashrate_raw")));
  return Figure{value, std::nullopt};
}

Result<Figure> decode_gminer(std::string_view text) {
  COMMENSAL_ASSIGN(const Json json, parse(text));
  COMMENSAL_ASSIGN(const double value, sum(json, "devices", "speed"));
  return Figure{value, uptime(json, "uptime")};
}

Result<Figure> decode_excavator(std::string_view text) {
  COMMENSAL_ASSIGN(const Json json, parse(text));
  const Json* error = find(json, "error");
  if (error != nullptr && !error->is_null())
    return fail(ErrorCode::kUnavailable, "the miner answers with an error");
  COMMENSAL_ASSIGN(const double value, sum(json, "algorithms", "speed"));
  const Json& first = find(json, "algorithms")->front();
  return Figure{value, uptime(first, "uptime")};
}

}  // namespace commensal::probe
