// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/limits_observe.hpp>
#include <commensal/serve/observe/request_tag.hpp>
#include <span>

namespace commensal::observe {
namespace {

constexpr std::size_t kIdBytes = 16, kSpanBytes = 8;

bool is_id(std::string_view text) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= limits::kRequestIdBytesMax &&
         std::ranges::all_of(text, is_allowed);
}

/// Small letters only, as the specification has it.
bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// An id of a trace or a span: not all zeros.
bool is_given(std::string_view id) {
  return is_hex(id) && id.find_first_not_of('0') != std::string_view::npos;
}

/// "00-TRACE-PARENT-FLAGS".
bool read_traceparent(std::string_view text, RequestTag& tag) {
  constexpr std::size_t kTraceAt = 3, kParentAt = 36, kFlagsAt = 53, kSize = 55;
  if (text.size() != kSize || !text.starts_with("00-") || text[kParentAt - 1] != '-' ||
      text[kFlagsAt - 1] != '-') {
    return false;
  }
  const std::string_view trace = text.substr(kTraceAt, 2 * kIdBytes);
  const std::string_view parent = text.substr(kParentAt, 2 * kSpanBytes);
  const std::string_view flags = text.substr(kFlagsAt);
  if (!is_given(trace) || !is_given(parent) || !is_hex(flags)) return false;
  tag.trace_id = trace;
  tag.parent_id = parent;
  constexpr std::string_view kOdd = "13579bdf";
  tag.is_sampled = kOdd.find(flags[1]) != std::string_view::npos;
  return true;
}

}  // namespace

RequestTag tag_of(std::string_view request_id, std::string_view traceparent, core::Rng& rng) {
  std::array<std::uint8_t, 2 * kIdBytes + kSpanBytes> random{};
  rng.fill(random);
  const std::span<const std::uint8_t> bytes(random);
  RequestTag tag;
  tag.id = is_id(request_id) ? std::string(request_id) : core::to_hex(bytes.first(kIdBytes));
  tag.span_id = core::to_hex(bytes.last(kSpanBytes));
  if (!read_traceparent(traceparent, tag)) {
    tag.trace_id = core::to_hex(bytes.subspan(kIdBytes, kIdBytes));
  }
  return tag;
}

}  // namespace commensal::observe
