// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/spec.hpp>

namespace commensal::probe {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

/// The process that is named at the end; taken off.
std::optional<int> take_process(std::string_view& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view name = text.substr(at + 1);
  int pid = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
  const bool is_pid = read.ec == std::errc() && read.ptr == name.data() + name.size() && pid > 0;
  if (!is_pid && name != "listener") return std::nullopt;
  text = text.substr(0, at);
  return is_pid ? pid : 0;
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::kInvalidArgument,
                "expected http://HOST:PORT with a numeric HOST or localhost, got '{}'", text);
  };
  Endpoint made;
  std::string_view rest = text;
  if (rest.starts_with("tcp://")) {
    made.is_tcp = true;
    rest.remove_prefix(6);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return refuse();
  }
  if (!is_visible(rest)) return refuse();
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  made.target = rest.substr(slash);
  rest = rest.substr(0, slash);
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    made.token = rest.substr(0, at);
    rest.remove_prefix(at + 1);
  }
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || (made.is_tcp && !made.target.empty())) return refuse();
  std::string_view host = rest.substr(0, colon);
  const std::string_view port = rest.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  made.host = host == "localhost" ? "127.0.0.1" : host;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), made.port);
  if (read.ec != std::errc() || read.ptr != port.data() + port.size() || made.port == 0)
    return refuse();
  constexpr std::string_view kNumeric = "0123456789abcdefABCDEF.:";
  const bool is_numeric = !made.host.empty() &&
                          made.host.find_first_not_of(kNumeric) == std::string::npos &&
                          made.host.find_first_of(".:") != std::string::npos;
  if (!is_numeric) return refuse();
  return made;
}

Result<Spec> parse_spec(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (text.size() > limits::kProbeSpecBytesMax)
    return fail(ErrorCode::kInvalidArgument, "a probe is named by at most {} bytes",
                limits::kProbeSpecBytesMax);
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size() ||
      text.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument,
                "expected KIND:WHERE such as xmrig:http://127.0.0.1:4067, got '{}'", text);
  }
  Spec spec{std::string(text.substr(0, colon)), {}, {}, {}};
  std::string_view rest = text.substr(colon + 1);
  spec.process = take_process(rest);
  const std::size_t hash = rest.find('#');
  spec.place = rest.substr(0, hash);
  if (hash != std::string_view::npos) spec.detail = rest.substr(hash + 1);
  if (spec.place.empty())
    return fail(ErrorCode::kInvalidArgument, "'{}' does not say where, after the colon", text);
  return spec;
}

std::string without_token(std::string_view spec) {
  std::string_view rest = spec;
  take_process(rest);
  const std::size_t begin = rest.find("://");
  if (begin == std::string_view::npos || begin > rest.find('#')) return std::string(spec);
  const std::size_t end = std::min(rest.find_first_of("/#", begin + 3), rest.size());
  const std::size_t at = rest.substr(0, end).rfind('@');
  if (at == std::string_view::npos || at < begin) return std::string(spec);
  return std::string(spec.substr(0, begin + 3)) + std::string(spec.substr(at + 1));
}

std::string printable(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c >= ' ' && c < '\x7f') {
      made += c;
    } else {
      made += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return made;
}

}  // namespace commensal::probe
