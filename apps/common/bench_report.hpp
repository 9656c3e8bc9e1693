// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/report.hpp>

namespace commensal::apps {

/// Prints it, as JSON or for people. The exit status: 2 where a bar is missed.
int print_report(const lab::bench::Report& report, bool as_json);

}  // namespace commensal::apps
