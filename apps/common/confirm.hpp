// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace commensal::apps {

/// "y" or "yes", in any case, with blanks around it. Pure.
bool says_yes(std::string_view answer);

/// Asks who sits at the terminal; what is not yes is no, the end of the input too. True without a
/// question where one of the two is no terminal: a script has said what it wants. Blocks.
bool is_confirmed(const std::string& question, std::FILE* in = stdin, std::FILE* out = stderr);

}  // namespace commensal::apps
