// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace commensal::apps {

/// The word of `known` that `word` was probably meant to be: the one with the fewest letters added,
/// left out, changed or swapped, at most one in three of them. Empty: none.
std::string nearest(std::string_view word, std::span<const std::string> known);

}  // namespace commensal::apps
