// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/ref/pattern_parser.hpp>
#include <commensal/compute/kernels/ref/strings_pattern.hpp>
#include <commensal/compute/kernels/ref/unicode.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Node = PatternNode;

// Writes states from the back: each node is told where to go on.
class Writer {
 public:
  Writer(const std::vector<Node>& nodes, std::vector<Pattern::State>& states)
      : nodes_(nodes), states_(states) {
    states_.push_back({});  // state 0 matches
  }

  std::uint32_t write(std::size_t node, std::uint32_t next) {
    if (is_too_large()) return next;
    ++written_;
    const Node& n = nodes_[node];
    switch (n.kind) {
      case Node::Kind::kEmpty:
        return next;
      case Node::Kind::kSet:
        return add({Pattern::Op::kSet, {}, n.set, next, 0});
      case Node::Kind::kAssert:
        return add({Pattern::Op::kAssert, n.assertion, 0, next, 0});
      case Node::Kind::kRepeat:
        return repeat(n, next);
      case Node::Kind::kConcat:
        for (std::size_t i = n.children.size(); i > 0; --i) next = write(n.children[i - 1], next);
        return next;
      case Node::Kind::kAlternate:
        break;
    }
    std::uint32_t entry = write(n.children.back(), next);
    for (std::size_t i = n.children.size() - 1; i > 0; --i) {
      const std::uint32_t first = write(n.children[i - 1], next);
      entry = add({Pattern::Op::kSplit, {}, 0, first, entry});
    }
    return entry;
  }
  // Nodes are counted beside states: empty ones make none, however often they are repeated.
  bool is_too_large() const {
    return states_.size() > limits::kPatternStatesMax || written_ > limits::kPatternStatesMax;
  }

 private:
  std::uint32_t add(const Pattern::State& state) {
    states_.push_back(state);
    return static_cast<std::uint32_t>(states_.size() - 1);
  }
  std::uint32_t repeat(const Node& n, std::uint32_t next) {
    std::uint32_t entry = next;
    if (n.most < 0) {
      entry = add({Pattern::Op::kSplit, {}, 0, 0, next});
      const std::uint32_t body = write(n.children[0], entry);
      states_[entry].next = body;
    }
    for (int i = n.least; i < n.most && !is_too_large(); ++i) {
      const std::uint32_t body = write(n.children[0], entry);
      entry = add({Pattern::Op::kSplit, {}, 0, body, next});
    }
    for (int i = 0; i < n.least && !is_too_large(); ++i) entry = write(n.children[0], entry);
    return entry;
  }

  const std::vector<Node>& nodes_;
  std::vector<Pattern::State>& states_;
  std::size_t written_ = 0;
};

bool is_word(std::uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_in(const std::vector<Pattern::Span>& spans, std::uint32_t c) {
  for (const Pattern::Span& span : spans) {
    if (c >= span.first && c <= span.last) return true;
  }
  return false;
}

}  // namespace

core::Result<Pattern> Pattern::of(std::string_view text) {
  Pattern made;
  COMMENSAL_ASSIGN(const ParsedPattern parsed, parse_pattern(text));
  made.sets_ = parsed.sets;
  Writer writer(parsed.nodes, made.states_);
  made.start_ = writer.write(parsed.root, 0);
  if (!writer.is_too_large()) return made;
  return fail(ErrorCode::kResourceExhausted, "the pattern takes more than {} states",
              limits::kPatternStatesMax);
}

bool Pattern::takes(const Set& set, std::uint32_t c) const {
  if (c >= kRawByte) return false;  // as in RE2, what is not UTF-8 is no character
  bool found = is_in(set.spans, c);
  if (set.folded && !found) {
    const std::uint32_t upper = upper_of(c);
    found = is_in(set.spans, lower_of(c)) || is_in(set.spans, upper) ||
            is_in(set.spans, lower_of(upper));
  }
  return found != set.negated;
}

bool Pattern::holds(Assert assertion, const Sides& s) {
  const bool is_edge = (s.has_before && is_word(s.before)) != (s.has_after && is_word(s.after));
  switch (assertion) {
    case Assert::kTextStart:
      return !s.has_before;
    case Assert::kTextEnd:
      return !s.has_after;
    case Assert::kLineStart:
      return !s.has_before || s.before == '\n';
    case Assert::kLineEnd:
      return !s.has_after || s.after == '\n';
    case Assert::kWord:
      return is_edge;
    case Assert::kNoWord:
      return !is_edge;
  }
  return false;
}

void Pattern::enter(std::uint32_t first, const Sides& sides, std::vector<std::uint32_t>& entered,
                    std::vector<char>& seen) const {
  std::vector<std::uint32_t> open = {first};
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    if (seen[at] != 0) continue;
    seen[at] = 1;
    const State& state = states_[at];
    if (state.op == Op::kMatch || state.op == Op::kSet) {
      entered.push_back(at);
    } else if (state.op == Op::kSplit) {
      open.push_back(state.next);
      open.push_back(state.other);
    } else if (holds(state.assertion, sides)) {
      open.push_back(state.next);
    }
  }
}

bool Pattern::matches(std::string_view text, Pulse& pulse) const {
  std::vector<std::uint32_t> here, next;
  std::vector<char> seen(states_.size(), 0);
  std::size_t at = 0;
  Sides sides;
  const auto look_ahead = [&] {
    std::size_t behind = at;
    sides.has_after = at < text.size();
    if (sides.has_after) sides.after = next_character(text, behind);
    return behind;
  };
  std::size_t behind = look_ahead();
  enter(start_, sides, here, seen);
  while (sides.has_after && !here.empty()) {
    const std::uint32_t character = sides.after;
    at = behind;
    sides.has_before = true;
    sides.before = character;
    behind = look_ahead();
    next.clear();
    seen.assign(states_.size(), 0);
    pulse(32 + 4 * states_.size());
    for (const std::uint32_t state : here) {
      const State& s = states_[state];
      if (s.op == Op::kSet && takes(sets_[s.set], character)) enter(s.next, sides, next, seen);
    }
    here.swap(next);
  }
  for (const std::uint32_t state : here) {
    if (states_[state].op == Op::kMatch) return true;
  }
  return false;
}

}  // namespace commensal::kernels::ref
