// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <hosts/common/prometheus.hpp>

namespace hosts::common {

std::string to_prometheus(std::span<const Metric> metrics) {
  std::string text;
  std::string_view last;
  for (const Metric& metric : metrics) {
    const std::string name(metric.name);
    if (metric.name != last) {
      text += "# HELP " + name + " " + std::string(metric.help) + "\n";
      text += "# TYPE " + name + " " + std::string(metric.type) + "\n";
      last = metric.name;
    }
    char value[40];
    (void)std::snprintf(value, sizeof value, "%.17g", metric.value);
    text += name + (metric.labels.empty() ? "" : "{" + metric.labels + "}") + " " + value + "\n";
  }
  return text;
}

}  // namespace hosts::common
