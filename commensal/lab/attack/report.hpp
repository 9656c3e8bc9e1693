// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/attack/runner.hpp>
#include <string>

namespace commensal::attack {

/// A table and its bars, for people.
std::string report_text(std::span<const Finding> findings, const Options& options);
/// {"trials", "seed", "results": [...], "bars": [...]}: a function of the findings alone.
std::string report_json(std::span<const Finding> findings, const Options& options);
/// What each attack does, what is against it, how the control turns that off.
std::string list_text();

}  // namespace commensal::attack
