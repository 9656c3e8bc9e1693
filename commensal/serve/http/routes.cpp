// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/http/routes.hpp>
#include <span>

namespace commensal::http {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

core::Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return core::fail(core::ErrorCode::kInvalidArgument,
                          "'%' in a URL is followed by two hexadecimal digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return core::fail(core::ErrorCode::kInvalidArgument, "a URL holds no zero byte");
    out.push_back(c);
  }
  return out;
}

/// Calls take(part) for what lies between the separators.
template <class Take>
core::Result<void> for_each_part(std::string_view text, char separator, Take take) {
  while (true) {
    const std::size_t end = text.find(separator);
    COMMENSAL_TRY(take(text.substr(0, end)));
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> parts;
  path.remove_prefix(1);
  while (true) {
    const std::size_t end = path.find('/');
    parts.push_back(path.substr(0, end));
    if (end == std::string_view::npos) return parts;
    path.remove_prefix(end + 1);
  }
}

bool match_parts(std::span<const std::string_view> pattern, std::span<const std::string> segments,
                 Params& params) {
  if (pattern.empty()) return segments.empty();
  if (segments.empty()) return false;
  const std::string_view head = pattern.front();
  if (!head.starts_with('{'))
    return head == segments.front() && match_parts(pattern.subspan(1), segments.subspan(1), params);
  const std::string name(head.substr(1, head.size() - 2));
  if (name == "model" && segments.size() >= 2 &&
      match_parts(pattern.subspan(1), segments.subspan(2), params)) {
    params[name] = segments[0] + "/" + segments[1];
    return true;
  }
  if (!match_parts(pattern.subspan(1), segments.subspan(1), params)) return false;
  params[name] = segments.front();
  return true;
}

}  // namespace

core::Result<Target> Target::parse(std::string_view text) {
  if (text.size() > limits::kHttpTargetBytesMax)
    return core::fail(core::ErrorCode::kInvalidArgument, "a URL has at most {} bytes",
                      limits::kHttpTargetBytesMax);
  if (!text.starts_with('/'))
    return core::fail(core::ErrorCode::kInvalidArgument, "a request's path begins with '/'");
  Target target;
  const std::size_t question = text.find('?');
  std::string_view path =
      text.substr(1, question == std::string_view::npos ? question : question - 1);
  if (path.ends_with('/')) path.remove_suffix(1);
  COMMENSAL_TRY(for_each_part(path, '/', [&](std::string_view part) -> core::Result<void> {
    COMMENSAL_ASSIGN(std::string decoded, percent_decode(part, false));
    target.segments.push_back(std::move(decoded));
    return {};
  }));
  if (question == std::string_view::npos) return target;
  COMMENSAL_TRY(for_each_part(
      text.substr(question + 1), '&', [&](std::string_view part) -> core::Result<void> {
        const std::size_t equals = part.find('=');
        COMMENSAL_ASSIGN(std::string name, percent_decode(part.substr(0, equals), true));
        const std::string_view raw =
            equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
        COMMENSAL_ASSIGN(std::string value, percent_decode(raw, true));
        if (!name.empty()) target.query[std::move(name)] = std::move(value);
        return {};
      }));
  return target;
}

bool match_path(std::string_view pattern, const std::vector<std::string>& segments,
                Params& params) {
  params.clear();
  return match_parts(split_path(pattern), segments, params);
}

}  // namespace commensal::http
