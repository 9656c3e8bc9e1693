// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The risk desk: what is known of a provider, what its answers are worth, and how often they must
/// be audited (docs/verification.md). Pure functions of events; no clock, no dice, no disk.
/// Money is in units of the ledger, as doubles: the desk advises, the ledger pays.
namespace commensal::risk {

/// One of the numbers that a figure is made of.
struct Term {
  std::string name;
  double value = 0;
  std::string_view meaning;
};

/// A number that can explain itself. The texts are static.
struct Figure {
  std::string_view name;
  double value = 0;
  std::string_view formula;
  std::string_view source;
  std::vector<Term> terms;
};

/// The figure, then a line for each term: name, value, meaning.
std::string to_table(const Figure& figure);

}  // namespace commensal::risk
