// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/tuner/chosen.hpp>
#include <nlohmann/json.hpp>
#include <optional>

namespace commensal::tuner {
namespace {

using core::ErrorCode;
using core::Result;
using Json = nlohmann::ordered_json;

Json json_of(const Chosen::Row& row) {
  return {{"host", row.host},
          {"machine", row.machine},
          {"model", core::to_hex(row.model)},
          {"threads", row.way.threads},
          {"at_once", row.way.at_once},
          {"processors", row.way.processors}};
}

bool is_within(const Way& way) {
  const auto is_processor = [](int number) {
    return number >= 0 && number < limits::kProcessorsMax;
  };
  return way.threads >= 1 && way.threads <= limits::kThreadsMax && way.at_once >= 1 &&
         way.at_once <= limits::kRequestsAtOnceMax &&
         way.processors.size() <= static_cast<std::size_t>(limits::kProcessorsMax) &&
         std::ranges::all_of(way.processors, is_processor);
}

/// None: it is no such row.
std::optional<Chosen::Row> row_of(const Json& json) {
  try {
    const auto model = core::digest_from_hex(json.at("model").get<std::string>());
    Chosen::Row made{json.at("host"), json.at("machine"), {}, {}};
    made.way = {json.at("threads"), json.at("at_once"), json.at("processors")};
    if (!model || !is_within(made.way)) return std::nullopt;
    made.model = *model;
    return made;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Result<Chosen> Chosen::read(core::Path file) {
  Chosen made(std::move(file));
  const auto bytes = core::read_file(made.file_, limits::kChosenWaysBytesMax);
  if (!bytes && bytes.error().code == ErrorCode::kNotFound) return made;
  if (!bytes) return tl::unexpected(bytes.error());
  const Json all = Json::parse(core::as_text(*bytes), nullptr, false);
  const Json rows = all.is_object() ? all.value("ways", Json()) : Json();
  bool is_sound = rows.is_array() && rows.size() <= limits::kChosenWaysMax;
  for (std::size_t i = 0; is_sound && i < rows.size(); ++i) {
    auto row = row_of(rows[i]);
    is_sound = row.has_value();
    if (row) made.rows_.push_back(*std::move(row));
  }
  if (is_sound) return made;
  return core::fail(ErrorCode::kDataLoss, "{} is damaged: remove it, and tune again",
                    made.file_.string());
}

std::map<core::Digest, Way> Chosen::beside(std::string_view host, std::string_view machine) const {
  std::map<core::Digest, Way> made;
  std::optional<std::string> only;
  for (const Row& row : rows_) {
    if (row.machine != machine || (!host.empty() && row.host != host)) continue;
    if (only.value_or(row.host) != row.host) return {};
    only = row.host;
    made[row.model] = row.way;
  }
  return made;
}

void Chosen::add(Row row) {
  std::erase_if(rows_, [&](const Row& one) {
    return one.host == row.host && one.machine == row.machine && one.model == row.model;
  });
  if (rows_.size() >= limits::kChosenWaysMax) rows_.erase(rows_.begin());
  rows_.push_back(std::move(row));
}

std::size_t Chosen::forget(std::string_view host, std::string_view machine) {
  return std::erase_if(rows_, [&](const Row& one) {
    return one.machine == machine && (host.empty() || one.host == host);
  });
}

Result<void> Chosen::save() const {
  Json rows = Json::array();
  for (const Row& row : rows_) rows.push_back(json_of(row));
  const std::string text =
      Json({{"ways", rows}}).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  return core::write_file_atomically(file_, core::as_bytes(text), 0600);
}

}  // namespace commensal::tuner
