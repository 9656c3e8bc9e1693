// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/ref/pattern_parser.hpp>
#include <commensal/compute/kernels/ref/unicode.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Node = PatternNode;
using Spans = std::vector<Pattern::Span>;

constexpr std::uint32_t kLast = kRawByte - 1;
constexpr int kRepeatMax = 1000;  // as in RE2

using SpanList = std::span<const Pattern::Span>;

constexpr Pattern::Span kDigits[] = {{'0', '9'}};
constexpr Pattern::Span kSpaces[] = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
constexpr Pattern::Span kWords[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
constexpr Pattern::Span kAlnum[] = {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}};
constexpr Pattern::Span kAlpha[] = {{'A', 'Z'}, {'a', 'z'}};
constexpr Pattern::Span kAscii[] = {{0, 0x7f}};
constexpr Pattern::Span kBlank[] = {{'\t', '\t'}, {' ', ' '}};
constexpr Pattern::Span kCntrl[] = {{0, 0x1f}, {0x7f, 0x7f}};
constexpr Pattern::Span kGraph[] = {{'!', '~'}};
constexpr Pattern::Span kLower[] = {{'a', 'z'}};
constexpr Pattern::Span kPrint[] = {{' ', '~'}};
constexpr Pattern::Span kPunct[] = {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}};
constexpr Pattern::Span kSpace[] = {{'\t', '\r'}, {' ', ' '}};
constexpr Pattern::Span kUpper[] = {{'A', 'Z'}};
constexpr Pattern::Span kXdigit[] = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};

constexpr std::pair<std::string_view, SpanList> kNamed[] = {
    {"alnum", kAlnum},  {"alpha", kAlpha}, {"ascii", kAscii}, {"blank", kBlank},  {"cntrl", kCntrl},
    {"digit", kDigits}, {"graph", kGraph}, {"lower", kLower}, {"print", kPrint},  {"punct", kPunct},
    {"space", kSpace},  {"upper", kUpper}, {"word", kWords},  {"xdigit", kXdigit}};

Spans copied(SpanList spans) { return {spans.begin(), spans.end()}; }

// Of spans that are sorted and apart.
Spans complement(SpanList spans) {
  Spans made;
  std::uint32_t next = 0;
  for (const Pattern::Span& span : spans) {
    if (span.first > next) made.push_back({next, span.first - 1});
    next = span.last + 1;
  }
  made.push_back({next, kLast});
  return made;
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Flags {
  bool fold = false, dot_takes_newline = false, lines = false;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<ParsedPattern> parse() {
    COMMENSAL_ASSIGN(parsed_.root, alternation(0));
    if (at_ < text_.size()) return refuse(ErrorCode::kInvalidArgument, "')' without '('");
    return std::move(parsed_);
  }

 private:
  tl::unexpected<core::Error> refuse(ErrorCode code, std::string_view what) const {
    return fail(code, "the pattern at byte {}: {}", at_, what);
  }
  bool sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(std::string_view what) {
    if (!sees(what)) return false;
    at_ += what.size();
    return true;
  }
  bool is_over() const { return at_ >= text_.size(); }

  std::size_t add(Node node) {
    parsed_.nodes.push_back(std::move(node));
    return parsed_.nodes.size() - 1;
  }
  std::size_t add_set(Spans spans, bool negated = false) {
    parsed_.sets.push_back({std::move(spans), negated, flags_.fold});
    Node node;
    node.kind = Node::Kind::kSet;
    node.set = static_cast<std::uint32_t>(parsed_.sets.size() - 1);
    return add(node);
  }
  std::size_t add_assert(Pattern::Assert assertion) {
    Node node;
    node.kind = Node::Kind::kAssert;
    node.assertion = assertion;
    return add(node);
  }

  // Flags that a group sets hold to its end.
  Result<std::size_t> alternation(int depth) {
    if (depth > limits::kPatternDepthMax) {
      return refuse(ErrorCode::kResourceExhausted, "groups are nested too deeply");
    }
    const Flags outer = flags_;
    Node choice;
    choice.kind = Node::Kind::kAlternate;
    do {
      COMMENSAL_ASSIGN(const std::size_t branch, concatenation(depth));
      choice.children.push_back(branch);
    } while (take("|"));
    flags_ = outer;
    return choice.children.size() == 1 ? choice.children[0] : add(choice);
  }

  Result<std::size_t> concatenation(int depth) {
    Node row;
    row.kind = Node::Kind::kConcat;
    while (!is_over() && !sees("|") && !sees(")")) {
      if (take("\\Q")) {
        COMMENSAL_TRY(quoted(row));
        continue;
      }
      COMMENSAL_ASSIGN(const std::size_t one, atom(depth));
      COMMENSAL_ASSIGN(const std::size_t repeated, repetition(one));
      row.children.push_back(repeated);
    }
    return add(row);
  }

  // Behind \Q, to \E or the end; what follows \E repeats the last character.
  Result<void> quoted(Node& row) {
    while (!is_over() && !take("\\E")) {
      std::size_t one = literal();
      const bool is_last = take("\\E");
      if (is_last) {
        COMMENSAL_ASSIGN(one, repetition(one));
      }
      row.children.push_back(one);
      if (is_last) break;
    }
    return {};
  }

  std::size_t literal() {
    const std::uint32_t c = next_character(text_, at_);
    return add_set({{c, c}});
  }

  // {n}, {n,} or {n,m}; anything else in braces stands for itself.
  std::optional<std::pair<int, int>> counts() {
    std::size_t at = at_ + 1;
    const auto number = [&]() -> int {
      int value = -1;
      for (; at < text_.size() && is_digit(text_[at]); ++at) {
        value = std::min(std::max(value, 0) * 10 + (text_[at] - '0'), kRepeatMax + 1);
      }
      return value;
    };
    const int least = number();
    if (least < 0 || at >= text_.size()) return std::nullopt;
    int most = least;
    if (text_[at] == ',') {
      ++at;
      most = number();
    }
    if (at >= text_.size() || text_[at] != '}') return std::nullopt;
    at_ = at + 1;
    return std::pair(least, most);
  }
  Result<std::optional<std::pair<int, int>>> repeats() {
    if (take("*")) return std::pair(0, -1);
    if (take("+")) return std::pair(1, -1);
    if (take("?")) return std::pair(0, 1);
    if (!sees("{")) return std::nullopt;
    const auto counted = counts();
    if (!counted) return std::nullopt;
    const auto [least, most] = *counted;
    if (least > kRepeatMax || most > kRepeatMax || (most >= 0 && most < least)) {
      return refuse(ErrorCode::kInvalidArgument, "repetitions must be 0 to 1000, the least first");
    }
    return counted;
  }
  Result<std::size_t> repetition(std::size_t one) {
    COMMENSAL_ASSIGN(const auto found, repeats());
    if (!found) return one;
    take("?");  // whether greedy or not, the same texts are described
    COMMENSAL_ASSIGN(const auto again, repeats());
    if (again) return refuse(ErrorCode::kInvalidArgument, "a repetition of a repetition");
    Node node;
    node.kind = Node::Kind::kRepeat;
    node.least = found->first;
    node.most = found->second;
    node.children = {one};
    return add(node);
  }

  Result<std::size_t> atom(int depth) {
    using A = Pattern::Assert;
    if (take("(")) return group(depth);
    if (take("[")) return bracket();
    if (take(".")) {
      return flags_.dot_takes_newline ? add_set({{0, kLast}}) : add_set({{'\n', '\n'}}, true);
    }
    if (take("^")) return add_assert(flags_.lines ? A::kLineStart : A::kTextStart);
    if (take("$")) return add_assert(flags_.lines ? A::kLineEnd : A::kTextEnd);
    if (take("\\A")) return add_assert(A::kTextStart);
    if (take("\\z")) return add_assert(A::kTextEnd);
    if (take("\\b")) return add_assert(A::kWord);
    if (take("\\B")) return add_assert(A::kNoWord);
    if (sees("*") || sees("+") || sees("?")) {
      return refuse(ErrorCode::kInvalidArgument, "nothing to repeat");
    }
    if (!sees("\\")) return literal();
    if (auto spans = class_escape()) return add_set(*std::move(spans));
    COMMENSAL_ASSIGN(const std::uint32_t c, character_escape());
    return add_set({{c, c}});
  }

  Result<std::size_t> group(int depth) {
    if (take("?P<") || take("?<")) {
      const std::size_t first = at_;
      while (!is_over() && (is_letter(text_[at_]) || is_digit(text_[at_]) || sees("_"))) ++at_;
      if (at_ == first || !take(">")) {
        return refuse(ErrorCode::kUnsupported, "a group is named by letters, digits and _");
      }
    } else if (take("?")) {
      const Flags outer = flags_;
      COMMENSAL_ASSIGN(const bool is_alone, group_flags());
      if (is_alone) return add({});
      COMMENSAL_ASSIGN(const std::size_t inside, closed_group(depth));
      flags_ = outer;
      return inside;
    }
    return closed_group(depth);
  }
  Result<std::size_t> closed_group(int depth) {
    COMMENSAL_ASSIGN(const std::size_t inside, alternation(depth + 1));
    if (!take(")")) return refuse(ErrorCode::kInvalidArgument, "'(' without ')'");
    return inside;
  }
  // What follows "(?": flags, then ")" (true) or ":".
  Result<bool> group_flags() {
    bool value = true;
    while (!is_over()) {
      const char c = text_[at_++];
      if (c == ')' || c == ':') return c == ')';
      if (c == 'i')
        flags_.fold = value;
      else if (c == 's')
        flags_.dot_takes_newline = value;
      else if (c == 'm')
        flags_.lines = value;
      else if (c == '-' && value)
        value = false;
      else if (c != 'U')
        break;
    }
    return refuse(ErrorCode::kUnsupported, "a group of a kind that is not known");
  }

  // \d and such; nothing where there is none.
  std::optional<Spans> class_escape() {
    constexpr std::string_view kLetters = "dDsSwW";
    const SpanList kSets[] = {kDigits, kSpaces, kWords};
    if (at_ + 1 >= text_.size() || text_[at_] != '\\') return std::nullopt;
    const auto found = kLetters.find(text_[at_ + 1]);
    if (found == std::string_view::npos) return std::nullopt;
    at_ += 2;
    const SpanList spans = kSets[found / 2];
    return found % 2 == 0 ? copied(spans) : complement(spans);
  }
  // [:name:] or [:^name:] within brackets.
  Result<std::optional<Spans>> named_class() {
    if (!sees("[:")) return std::nullopt;
    for (const auto& [name, spans] : kNamed) {
      if (take("[:" + std::string(name) + ":]")) return copied(spans);
      if (take("[:^" + std::string(name) + ":]")) return complement(spans);
    }
    return refuse(ErrorCode::kInvalidArgument, "a [:class:] that is not known");
  }
  Result<std::uint32_t> character_escape() {
    constexpr std::string_view kLetters = "afnrtv", kMeanings = "\a\f\n\r\t\v";
    ++at_;
    if (is_over()) return refuse(ErrorCode::kInvalidArgument, "'\\' at the end");
    const char c = text_[at_];
    if (const auto found = kLetters.find(c); found != std::string_view::npos) {
      ++at_;
      return static_cast<std::uint32_t>(kMeanings[found]);
    }
    if (take("x")) return hex_escape();
    if (c >= '0' && c <= '7') return octal_escape();
    if (static_cast<unsigned char>(c) >= 0x80 || is_letter(c) || is_digit(c)) {
      return refuse(ErrorCode::kUnsupported, "an escape that is not supported");
    }
    ++at_;
    return static_cast<std::uint32_t>(c);
  }
  Result<std::uint32_t> hex_escape() {
    const bool braced = take("{");
    std::uint32_t value = 0;
    std::size_t digits = 0;
    while (!is_over() && is_hex(text_[at_]) && (braced || digits < 2)) {
      const char c = text_[at_++];
      value = value * 16 + static_cast<std::uint32_t>(is_digit(c) ? c - '0' : (c | 32) - 'a' + 10);
      value = std::min(value, kRawByte);
      ++digits;
    }
    const bool is_whole = braced ? digits > 0 && take("}") : digits == 2;
    if (is_whole && value <= kLast) return value;
    return refuse(ErrorCode::kInvalidArgument, "\\x needs two hexadecimal digits, or some in {}");
  }
  // A digit but 0 alone would refer back to a group.
  Result<std::uint32_t> octal_escape() {
    std::uint32_t value = 0;
    int digits = 0;
    for (; digits < 3 && !is_over() && text_[at_] >= '0' && text_[at_] <= '7'; ++digits) {
      value = value * 8 + static_cast<std::uint32_t>(text_[at_++] - '0');
    }
    if (digits > 1 || value == 0) return value;
    return refuse(ErrorCode::kUnsupported, "a back reference");
  }

  // Behind '['.
  Result<std::size_t> bracket() {
    const bool negated = take("^");
    Spans spans;
    for (bool is_first = true; is_first || !sees("]"); is_first = false) {
      if (is_over()) return refuse(ErrorCode::kInvalidArgument, "'[' without ']'");
      COMMENSAL_ASSIGN(auto named, named_class());
      if (!named) named = class_escape();
      if (named) {
        spans.insert(spans.end(), named->begin(), named->end());
        continue;
      }
      COMMENSAL_ASSIGN(const std::uint32_t first, bracket_character());
      std::uint32_t last = first;
      if (sees("-") && text_.substr(at_).size() > 1 && text_[at_ + 1] != ']') {
        ++at_;
        COMMENSAL_ASSIGN(last, bracket_character());
      }
      if (last < first) return refuse(ErrorCode::kInvalidArgument, "a range from end to begin");
      spans.push_back({first, last});
    }
    take("]");
    return add_set(std::move(spans), negated);
  }
  Result<std::uint32_t> bracket_character() {
    if (sees("\\")) return character_escape();
    return next_character(text_, at_);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Flags flags_;
  ParsedPattern parsed_;
};

}  // namespace

Result<ParsedPattern> parse_pattern(std::string_view text) {
  if (text.size() > limits::kPatternBytesMax) {
    return fail(ErrorCode::kResourceExhausted, "the pattern has {} bytes, at most {} are accepted",
                text.size(), limits::kPatternBytesMax);
  }
  for (std::size_t at = 0; at < text.size();) {
    if (next_character(text, at) >= kRawByte) {
      return fail(ErrorCode::kInvalidArgument, "the pattern is not UTF-8");
    }
  }
  return Parser(text).parse();
}

}  // namespace commensal::kernels::ref
