// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/result.hpp>
#include <string>
#include <string_view>

namespace commensal::http {

/// Walks a JSON text (RFC 8259) without building a tree of it, so that a request with a million
/// numbers costs a pass over its bytes. Depth is bounded by limits::kJsonDepthMax.
/// The text outlives the cursor. Errors: kInvalidArgument, naming the byte.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  /// Calls member(key) with the cursor at the member's value, which it must consume.
  template <class Member>
  core::Result<void> object(Member member) {
    COMMENSAL_TRY(open('{', "an object"));
    if (close('}')) return {};
    while (true) {
      skip_space();
      COMMENSAL_ASSIGN(const std::string key, string());
      COMMENSAL_TRY(expect(':'));
      COMMENSAL_TRY(member(std::string_view(key)));
      if (close('}')) return {};
      COMMENSAL_TRY(expect(','));
    }
  }
  /// Calls item() with the cursor at each item, which it must consume.
  template <class Item>
  core::Result<void> array(Item item) {
    COMMENSAL_TRY(open('[', "an array"));
    if (close(']')) return {};
    while (true) {
      COMMENSAL_TRY(item());
      if (close(']')) return {};
      COMMENSAL_TRY(expect(','));
    }
  }
  core::Result<std::string> string();
  core::Result<bool> boolean();
  core::Result<std::int64_t> integer();
  /// A number, true, false, null (or what is none of them): everything up to the next of ",]}" or
  /// space. For callers that read it themselves.
  std::string_view token();
  /// A whole value, checked: its text.
  core::Result<std::string_view> value();
  /// As value(), but only brackets and strings are looked at: for values that are read later.
  core::Result<std::string_view> unchecked_value();
  bool at_array() { return peek() == '['; }
  bool at_string() { return peek() == '"'; }
  /// Nothing but space is left.
  core::Result<void> end();

  tl::unexpected<core::Error> fail(std::string_view what) const;

 private:
  char peek();
  void skip_space();
  core::Result<void> open(char bracket, std::string_view what);
  bool close(char bracket);
  core::Result<void> expect(char c);
  core::Result<std::string_view> raw_string();

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace commensal::http
