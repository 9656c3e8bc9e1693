// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/model_name.hpp>
#include <apps/common/nearest.hpp>
#include <charconv>
#include <limits>
#include <system_error>

namespace commensal::apps {
namespace {

std::string_view name_after_owner(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

/// What to say behind "unknown model"; nothing where the list cannot be had.
std::string meant_instead(client::Client& client, const std::string& name) {
  const auto models = client.models();
  if (!models) return "";
  std::vector<std::string> known;
  for (const client::ModelInfo& model : *models) known.push_back(model.name);
  const std::string meant = nearest_model(name, known);
  return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
}

}  // namespace

core::Result<ModelName> read_model_name(const std::string& given, std::uint32_t version) {
  const std::size_t colon = given.rfind(':');
  if (colon == std::string::npos || colon + 1 == given.size()) return ModelName{given, version};
  const std::string_view digits = std::string_view(given).substr(colon + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) return ModelName{given, version};
  std::uint32_t said = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), said);
  if (read.ec != std::errc{} || said == 0)
    return core::fail(core::ErrorCode::kInvalidArgument, "'{}': a version is a number from 1 to {}",
                      given, std::numeric_limits<std::uint32_t>::max());
  if (version != 0 && version != said)
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "'{}' and --version {} name two versions: give one of them", given, version);
  return ModelName{given.substr(0, colon), said};
}

std::string nearest_model(std::string_view name, const std::vector<std::string>& known) {
  const auto is_same = [&](const std::string& one) { return one == name; };
  if (std::any_of(known.begin(), known.end(), is_same)) return "";
  const auto same = std::find_if(known.begin(), known.end(), [&](const std::string& one) {
    return name_after_owner(one) == name_after_owner(name);
  });
  return same != known.end() ? *same : nearest(name, known);
}

core::Result<client::ModelInfo> look_up(client::Client& client, const ModelName& named) {
  auto model = client.model(named.model, named.version);
  if (model || model.error().code != core::ErrorCode::kNotFound) return model;
  core::Error error = model.error();
  error.message += meant_instead(client, named.model);
  return tl::unexpected(std::move(error));
}

}  // namespace commensal::apps
