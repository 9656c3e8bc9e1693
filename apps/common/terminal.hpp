// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace commensal::apps {

/// A stranger's text as a terminal may show it: control characters, marks of the direction of
/// writing and what is no UTF-8 as \xNN, byte by byte. One line, or with `keeps_lines` line breaks
/// and tabs as they are. Pure.
std::string for_terminal(std::string_view text, bool keeps_lines = false);

}  // namespace commensal::apps
