// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/attack/runner.hpp>
#include <string>

namespace commensal::attack {

/// A table for people; "trials", "seed", "results": a function of the findings alone.
lab::bench::Report report_of(std::span<const Finding> findings, const Options& options);
/// What each attack does, what is against it, how the control turns that off.
std::string list_text();

}  // namespace commensal::attack
