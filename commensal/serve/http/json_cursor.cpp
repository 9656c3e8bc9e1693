// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <commensal/serve/http/json_cursor.hpp>
#include <nlohmann/json.hpp>

namespace commensal::http {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

tl::unexpected<core::Error> JsonCursor::fail(std::string_view what) const {
  return core::fail(core::ErrorCode::kInvalidArgument, "JSON, byte {}: expected {}", at_, what);
}

void JsonCursor::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

char JsonCursor::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

core::Result<void> JsonCursor::open(char bracket, std::string_view what) {
  if (peek() != bracket) return fail(what);
  if (++depth_ > limits::kJsonDepthMax)
    return fail(fmt::format("at most {} levels", limits::kJsonDepthMax));
  ++at_;
  return {};
}

bool JsonCursor::close(char bracket) {
  if (peek() != bracket) return false;
  ++at_;
  --depth_;
  return true;
}

core::Result<void> JsonCursor::expect(char c) {
  if (peek() != c) return fail(fmt::format("'{}'", c));
  ++at_;
  return {};
}

core::Result<std::string_view> JsonCursor::raw_string() {
  if (peek() != '"') return fail("a string");
  const std::size_t begin = at_;
  for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == '"') {
      at_ = i + 1;
      return text_.substr(begin, at_ - begin);
    }
  }
  return fail("a string that ends");
}

core::Result<std::string> JsonCursor::string() {
  const std::size_t begin = at_;
  COMMENSAL_ASSIGN(const std::string_view raw, raw_string());
  // Escapes, surrogates and UTF-8 are nlohmann's affair.
  const nlohmann::json parsed = nlohmann::json::parse(raw, nullptr, false);
  if (parsed.is_string()) return parsed.get<std::string>();
  at_ = begin;
  return fail("a string in UTF-8 with known escapes");
}

core::Result<bool> JsonCursor::boolean() {
  const std::string_view text = token();
  if (text == "true") return true;
  if (text == "false") return false;
  return fail("true or false");
}

core::Result<std::int64_t> JsonCursor::integer() {
  const std::string_view text = token();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool padded = digits.size() > 1 && digits.front() == '0';
  if (error != std::errc() || end != text.data() + text.size() || padded)
    return fail("an integer of 64 bits");
  return value;
}

std::string_view JsonCursor::token() {
  skip_space();
  const std::size_t begin = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ',' || c == ']' || c == '}' || is_space(c)) break;
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

core::Result<std::string_view> JsonCursor::unchecked_value() {
  const char first = peek();
  if (first == '"') return raw_string();
  if (first != '[' && first != '{') {
    const std::string_view text = token();
    if (text.empty()) return fail("a value");
    return text;
  }
  const std::size_t begin = at_;
  int depth = depth_;
  do {
    if (at_ >= text_.size()) return fail("brackets that close");
    const char c = text_[at_];
    if (c == '"') {
      COMMENSAL_TRY(raw_string());
      continue;
    }
    if (c == '[' || c == '{') {
      if (++depth > limits::kJsonDepthMax)
        return fail(fmt::format("at most {} levels", limits::kJsonDepthMax));
    } else if (c == ']' || c == '}') {
      --depth;
    }
    ++at_;
  } while (depth > depth_);
  return text_.substr(begin, at_ - begin);
}

core::Result<std::string_view> JsonCursor::value() {
  const std::size_t begin = at_;
  COMMENSAL_ASSIGN(const std::string_view text, unchecked_value());
  if (nlohmann::json::accept(text)) return text;
  at_ = begin;
  return fail("a JSON value");
}

core::Result<void> JsonCursor::end() {
  skip_space();
  if (at_ != text_.size()) return fail("the end of the text");
  return {};
}

}  // namespace commensal::http
