// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace commensal::gateway {

/// The first sentence of the first paragraph that is neither heading, picture, list, table, code
/// nor HTML, without Markdown's marks, on one line of limits::kCardSummaryBytesMax at most; ""
/// where there is none. Text for people: whoever shows it in HTML escapes it. Pure.
std::string summary_of(std::string_view markdown);

}  // namespace commensal::gateway
