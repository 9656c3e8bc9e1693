// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/bench.hpp>

namespace commensal::lab::bench {

/// Tables for a terminal, one line each row.
std::string report_text(const BenchReport& report);
/// {"results", "loads", "geomeans", "bars", "notes"}; times in milliseconds, memory in bytes.
std::string report_json(const BenchReport& report);

}  // namespace commensal::lab::bench
