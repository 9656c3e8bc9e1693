// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <map>
#include <string>
#include <string_view>

namespace commensal::observe::testing {

/// What a reader of Prometheus' text format 0.0.4 (prometheus.io, "Exposition formats") makes of a
/// text.
struct Exposition {
  std::map<std::string, std::string> types;  // by metric: "counter", "gauge", "histogram"
  /// By name and labels, these by their names: a{b="c",d="e"}; a{} where there are none.
  std::map<std::string, double> samples;

  /// Strict. Error: kDataLoss, with the line that is none.
  static core::Result<Exposition> parse(std::string_view text);
  /// Error: kDataLoss: buckets fall, or the last of them is not the histogram's count.
  core::Result<void> check_histograms() const;
  /// 0 where there is none.
  double at(const std::string& sample) const;
  /// Of all samples of this name.
  double sum(const std::string& name) const;
};

}  // namespace commensal::observe::testing
