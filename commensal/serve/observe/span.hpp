// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace commensal::observe {

/// A part of a request's time, as OpenTelemetry has it.
struct Span {
  enum class Kind : std::uint8_t { kInternal = 1, kServer = 2, kClient = 3 };  // OTLP's numbers
  using Value = std::variant<std::string, std::int64_t>;

  std::string trace_id = {};  // hexadecimal, as the next two
  std::string id = {};
  std::string parent_id = {};  // "": it has none
  std::string name = {};
  Kind kind = Kind::kInternal;
  std::int64_t begun_ns = 0;  // since 1970 UTC
  std::int64_t ended_ns = 0;
  std::vector<std::pair<std::string_view, Value>> attributes = {};  // their names stay
  std::optional<std::string> error = {};                            // what went wrong, if it did
};

/// Who says so.
struct SpanSource {
  std::string service;
  std::string instance;
};

/// An ExportTraceServiceRequest in JSON (OpenTelemetry Protocol 1.x, "JSON Protobuf Encoding").
/// Pure.
std::string otlp_text(const SpanSource& source, std::span<const Span> spans);

}  // namespace commensal::observe
