// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>

#include <commensal/serve/observe/request_log.hpp>
#include <nlohmann/json.hpp>

namespace commensal::observe {
namespace {

using Json = nlohmann::ordered_json;

double ms_of(std::int64_t ns) { return static_cast<double>(ns / 1'000) / 1'000; }

}  // namespace

std::string time_text(std::int64_t wall_ms) {
  const auto s = static_cast<std::time_t>(wall_ms / 1'000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(s), wall_ms % 1'000);
}

std::string log_line(const Ended& ended) {
  const Json line = {{"time", time_text(ended.wall_ms)},
                     {"request_id", ended.tag.id},
                     {"trace_id", ended.tag.trace_id},
                     {"span_id", ended.tag.span_id},
                     {"account", ended.account},
                     {"model", ended.model},
                     {"version", ended.version},
                     {"code", ended.code},
                     {"queued_ms", ms_of(ended.queued_ns)},
                     {"computed_ms", ms_of(ended.inferred_ns)},
                     {"bytes_in", ended.bytes_in},
                     {"bytes_out", ended.bytes_out},
                     {"receipt", ended.receipt},
                     {"provider", ended.provider}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace commensal::observe
