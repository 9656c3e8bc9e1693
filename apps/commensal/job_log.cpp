// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/job_log.hpp>
#include <apps/common/log.hpp>
#include <commensal/base/core/limits_observe.hpp>
#include <commensal/serve/observe/request_log.hpp>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kWriteEveryMs = 100;

double ms_of(std::int64_t ns) { return static_cast<double>(ns / 1'000) / 1'000; }

}  // namespace

std::string job_line(const provider::JobEnd& end) {
  Json line = {{"time", observe::time_text(end.wall_ms)},
               {"request_id", end.request_id},
               {"trace_id", end.trace_id},
               {"job", core::to_hex(end.job)},
               {"step", end.step},
               {"model", core::to_hex(end.model)},
               {"outcome", end.outcome},
               {"took_ms", ms_of(end.took_ns)}};
  if (end.tasks > 0) {
    line["computed_ms"] = ms_of(end.computed_ns);
    line["batch_jobs"] = end.tasks;
    line["batch_rows"] = end.rows;
  }
  if (!end.why.empty()) line["why"] = end.why;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JobLog::JobLog()
    : lines_({.waiting_max = limits::kLoggedRequestsMax,
              .at_once_max = limits::kLoggedRequestsMax,
              .every_ms = kWriteEveryMs},
             [](const std::vector<provider::JobEnd>& ends) {
               for (const provider::JobEnd& end : ends) say_as_is(job_line(end));
               return true;
             }) {}

}  // namespace commensal::apps
