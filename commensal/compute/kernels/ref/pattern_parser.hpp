// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/kernels/ref/strings_pattern.hpp>

/// The first half of Pattern: from text to a tree.
namespace commensal::kernels::ref {

struct PatternNode {
  enum class Kind : std::uint8_t { kEmpty, kSet, kAssert, kConcat, kAlternate, kRepeat };
  Kind kind = Kind::kEmpty;
  std::uint32_t set = 0;
  Pattern::Assert assertion = Pattern::Assert::kTextStart;
  int least = 0, most = 0;  // of kRepeat; most below 0: no end
  std::vector<std::size_t> children;
};

struct ParsedPattern {
  std::vector<PatternNode> nodes;
  std::vector<Pattern::Set> sets;
  std::size_t root = 0;
};

core::Result<ParsedPattern> parse_pattern(std::string_view text);

}  // namespace commensal::kernels::ref
