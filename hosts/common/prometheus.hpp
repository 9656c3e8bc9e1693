// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hosts::common {

struct Metric {
  std::string_view name;
  std::string_view type;  // "counter" or "gauge"
  std::string_view help;
  double value = 0;
  std::string labels{};  // as between braces, or ""
};

/// Prometheus text format 0.0.4. Metrics of one name must follow each other.
std::string to_prometheus(std::span<const Metric> metrics);

inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4";

}  // namespace hosts::common
