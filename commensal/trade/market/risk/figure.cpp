// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <commensal/trade/market/risk/figure.hpp>
#include <iterator>

namespace commensal::risk {

std::string to_table(const Figure& figure) {
  std::string table;
  const auto out = std::back_inserter(table);
  fmt::format_to(out, "{:<28}  {:>12.6g}  {}  [{}]\n", figure.name, figure.value, figure.formula,
                 figure.source);
  for (const Term& term : figure.terms) {
    fmt::format_to(out, "  {:<26}  {:>12.6g}  {}\n", term.name, term.value, term.meaning);
  }
  return table;
}

}  // namespace commensal::risk
