// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/train/section.hpp>
#include <cstdlib>
#include <set>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;

Result<void> Section::only(const std::vector<std::string_view>& keys) const {
  if (!node_.IsDefined() || !node_.IsMap())
    return fail(ErrorCode::kInvalidArgument, "'{}': expected a map", where_);
  std::set<std::string> seen;
  for (const auto& entry : node_) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (!seen.insert(key).second)
      return fail(ErrorCode::kInvalidArgument, "'{}' is there twice", path(key));
    if (std::ranges::find(keys, key) != keys.end()) continue;
    std::string all;
    for (const std::string_view one : keys) all += (all.empty() ? "" : ", ") + std::string(one);
    return fail(ErrorCode::kInvalidArgument, "unknown key '{}', expected {}", path(key), all);
  }
  return {};
}

Result<void> Section::text(const char* key, bool must, std::string& into) const {
  const YAML::Node found = node_[key];
  if (!found.IsDefined() && !must) return {};
  if (!found.IsDefined() || !found.IsScalar() || found.Scalar().empty())
    return fail(ErrorCode::kInvalidArgument, "'{}': expected a text", path(key));
  into = found.Scalar();
  return {};
}

Result<void> Section::number(const char* key, double least, double most, double& into) const {
  const YAML::Node found = node_[key];
  return found.IsDefined() ? read(found, path(key), least, most, into) : Result<void>();
}

Result<void> Section::count(const char* key, std::int64_t least, std::int64_t most,
                            std::int64_t& into) const {
  double value = static_cast<double>(into);
  COMMENSAL_TRY(number(key, static_cast<double>(least), static_cast<double>(most), value));
  if (value != std::floor(value))
    return fail(ErrorCode::kInvalidArgument, "'{}': expected a whole number", path(key));
  into = static_cast<std::int64_t>(value);
  return {};
}

Result<void> Section::texts(const char* key, const char* expected,
                            std::vector<std::string>& into) const {
  const YAML::Node list = node_[key];
  if (!list.IsDefined()) return {};
  bool fits = list.IsSequence() && list.size() > 0;
  for (std::size_t i = 0; fits && i < list.size(); ++i) {
    fits = list[i].IsScalar() && !list[i].Scalar().empty();
    if (fits) into.push_back(list[i].Scalar());
  }
  if (fits) return {};
  return fail(ErrorCode::kInvalidArgument, "'{}': expected {}", path(key), expected);
}

Result<void> Section::read(const YAML::Node& node, const std::string& path, double least,
                           double most, double& into) {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && end == text.c_str() + text.size();
  if (!is_number || !std::isfinite(value) || value < least || value > most) {
    return fail(ErrorCode::kInvalidArgument, "'{}' is '{}', expected a number of {} to {}", path,
                text, least, most);
  }
  into = value;
  return {};
}

}  // namespace commensal::train
