// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/observe/ended.hpp>
#include <string>

namespace commensal::observe {

/// One line of JSON without its end, {"time", "request_id", "trace_id", ...}. Pure.
std::string log_line(const Ended& ended);
/// Its time: RFC 3339, in UTC.
std::string time_text(std::int64_t wall_ms);

}  // namespace commensal::observe
