// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/common/bench_report.hpp>

namespace commensal::apps {

int print_report(const lab::bench::Report& report, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", lab::bench::to_json(report));
  } else {
    fmt::print("{}", lab::bench::to_text(report));
  }
  return report.ok() ? 0 : 2;
}

}  // namespace commensal::apps
