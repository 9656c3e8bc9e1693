// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/oip/unknown_model.hpp>

namespace commensal::oip {

bool is_unknown_model(const core::Error& error) {
  return error.code == core::ErrorCode::kNotFound && error.message.starts_with("unknown model");
}

core::Error in_tritons_words(core::Error error, std::string_view model, std::string_view version) {
  if (!is_unknown_model(error)) return error;
  constexpr std::size_t kVersionShown = 32;
  error.message = fmt::format(
      "Request for unknown model: '{}'{}{} is not found{}",
      model.substr(0, 2 * limits::kNameBytesMax + 1), version.empty() ? "" : " version ",
      version.substr(0, kVersionShown),
      model.find('/') == std::string_view::npos ? ": names are OWNER/MODEL, or an alias" : "");
  return error;
}

}  // namespace commensal::oip
