// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::http {

/// A request target, taken apart: decoded path segments and decoded query parameters (the last of
/// equal names counts). Error: kInvalidArgument (no leading '/', broken %XX, a NUL, too long).
struct Target {
  std::vector<std::string> segments;
  std::map<std::string, std::string, std::less<>> query;
  static core::Result<Target> parse(std::string_view text);
};

using Params = std::map<std::string, std::string, std::less<>>;

/// Matches segments against a pattern such as "/v2/models/{model}/versions/{version}/infer".
/// {model} takes two segments "owner/name", or one: then the slash came as %2F or is missing
/// (which nobody's name does; the lookup says so). Any other {name} takes one segment.
/// A trailing slash in the target is ignored. Pure.
bool match_path(std::string_view pattern, const std::vector<std::string>& segments, Params& params);

}  // namespace commensal::http
