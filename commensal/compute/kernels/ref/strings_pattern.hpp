// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/compute/kernels/pulse.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

/// Regular expressions in RE2's syntax, without what needs tables of scripts. A text is taken
/// through all states at once: the time is its length times the size of the pattern, whatever both
/// say.
namespace commensal::kernels::ref {

/// Knows: characters, '.', classes with ranges and [:names:], \d \D \s \S \w \W, \b \B, the
/// escapes \a \f \n \r \t \v \ooo \xhh \x{h...} \Q...\E and of punctuation, ^ $ \A \z, groups
/// (...), (?:...), (?P<name>...) and (?flags), (?flags:...) of i, m, s and U, '|', and the
/// repetitions * + ? {n} {n,} {n,m} with or without a further '?'. Everything else, \p{...} and
/// back references among it, is refused.
class Pattern {
 public:
  /// Errors: kInvalidArgument, kUnsupported; one line that says where.
  static core::Result<Pattern> of(std::string_view text);
  /// Whether the pattern describes all of the text.
  bool matches(std::string_view text, Pulse& pulse) const;

  enum class Op : std::uint8_t { kMatch, kSet, kSplit, kAssert };
  enum class Assert : std::uint8_t { kTextStart, kTextEnd, kLineStart, kLineEnd, kWord, kNoWord };
  struct Span {
    std::uint32_t first = 0, last = 0;
  };
  struct Set {
    std::vector<Span> spans;
    bool negated = false;
    bool folded = false;  // letters of either case stand for each other
  };
  /// Takes a character of a set, or goes on without one.
  struct State {
    Op op = Op::kMatch;
    Assert assertion = Assert::kTextStart;
    std::uint32_t set = 0;
    std::uint32_t next = 0, other = 0;  // other: of kSplit
  };

 private:
  // What lies on the two sides of a place in the text.
  struct Sides {
    bool has_before = false, has_after = false;
    std::uint32_t before = 0, after = 0;
  };
  static bool holds(Assert assertion, const Sides& sides);
  // Adds the state and those that it leads to without a character.
  void enter(std::uint32_t state, const Sides& sides, std::vector<std::uint32_t>& entered,
             std::vector<char>& seen) const;
  bool takes(const Set& set, std::uint32_t character) const;

  std::vector<State> states_;
  std::vector<Set> sets_;
  std::uint32_t start_ = 0;
};

}  // namespace commensal::kernels::ref
