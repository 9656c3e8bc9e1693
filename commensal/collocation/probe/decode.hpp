// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/collocation/probe/sample.hpp>

/// Answers of miners' HTTP interfaces, as figures in hashes a second. Pure functions: whatever the
/// text is, they answer. Errors: kDataLoss (not that format; names the field), kUnavailable (the
/// miner says that it is paused, or has no figure yet).
/// Sources: xmrig: doc/api/2/summary.json of its repository. lolMiner: API of 1.43 and later.
/// T-Rex: the API page of its wiki. NBMiner: API section of its readme. GMiner: GET /stat.
/// Excavator: api/README.md of its repository.
namespace commensal::probe {

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

}  // namespace commensal::probe
