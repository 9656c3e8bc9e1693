// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/program.hpp>

namespace commensal::apps {

inline constexpr std::size_t kHelpColumnsMax = 100;

/// The help of the program itself: its commands, by who uses them, in two columns of 80 together.
std::string front_page(const Program& program);

/// Breaks lines of more than kHelpColumnsMax at spaces; what is broken off stands under the
/// description that it belongs to.
std::string wrapped(std::string_view text);

/// The examples that begin with `command`, all of them, indented; a long one goes on after a
/// backslash. Empty where there is none.
std::string examples_of(std::string_view examples, std::string_view command);

}  // namespace commensal::apps
