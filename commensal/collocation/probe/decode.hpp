// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/collocation/probe/sample.hpp>
#include <map>

/// What programs answer, as figures. Pure functions: whatever the text is, they answer.
namespace commensal::probe {

/// Miners' HTTP interfaces, in hashes a second. Errors: kDataLoss (not that format; names the
/// field), kUnavailable (the miner says that it is paused, or has no figure yet).
/// Sources: xmrig: doc/api/2/summary.json of its repository. lolMiner: API of 1.43 and later.
/// T-Rex: the API page of its wiki. NBMiner: API section of its readme. GMiner: GET /stat.
/// Excavator: api/README.md of its repository.
core::Result<Figure> decode_xmrig(std::string_view text);
core::Result<Figure> decode_lolminer(std::string_view text);
core::Result<Figure> decode_trex(std::string_view text);
core::Result<Figure> decode_nbminer(std::string_view text);
core::Result<Figure> decode_gminer(std::string_view text);
core::Result<Figure> decode_excavator(std::string_view text);

/// A figure that a host can have: finite, not negative, not above kProbeFigureMax.
/// Error: kDataLoss, with `name`.
core::Result<double> check_figure(std::string_view name, double value);

/// A decimal number and nothing else. Error: kDataLoss, with `name`.
core::Result<double> read_figure(std::string_view name, std::string_view text);

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
