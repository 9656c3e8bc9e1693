// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/collocation/probe/sample.hpp>
#include <map>

namespace commensal::probe {

/// A metric that is looked for: its name, and labels that it must have (it may have others).
struct Selector {
  std::string name;
  std::map<std::string, std::string> labels;
  Quantity quantity = Quantity::kRate;
};

/// "NAME", "NAME{a="x",b="y"}", either after "rate:" or "work:". Without that, names that end in
/// _total, _count or _sum are counters. Error: kInvalidArgument.
core::Result<Selector> parse_selector(std::string_view text);

/// "WORK" or "WORK/SECONDS": a counter of work over one of the seconds that the program itself
/// spent on it. Error: kInvalidArgument (also where one of two is no counter).
struct Selectors {
  Selector figure;
  std::optional<Selector> own_time{};
};
core::Result<Selectors> parse_selectors(std::string_view text);

/// The sum of all series of the text format 0.0.4 that fit: a counter by thread or device is one
/// counter. Errors: kDataLoss (no number, or a TYPE line that says counter where a rate is
/// expected), kUnavailable (no such metric).
core::Result<Figure> decode_prometheus(std::string_view text, const Selector& selector);
core::Result<Figure> decode_prometheus(std::string_view text, const Selectors& selectors);

}  // namespace commensal::probe
