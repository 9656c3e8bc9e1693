// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <tests/tidy/source.hpp>
#include <vector>

/// Operators are data: what the program knows of one is a column of its row, so that nothing else
/// compares its name or has a table of its own by names.
namespace commensal::tidy {

/// The names of all rows among the sources.
std::set<std::string, std::less<>> operator_names(const std::vector<Source>& sources);

/// Where a file of the product compares an operator's name or spells one out. The arbiter may: it
/// has no table to ask; and the laboratory, where it finds a row to make a node of.
std::vector<Finding> check_operator_names(const Source& source,
                                          const std::set<std::string, std::less<>>& names);

}  // namespace commensal::tidy
