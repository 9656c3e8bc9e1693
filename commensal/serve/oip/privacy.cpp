// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/privacy.hpp>
#include <commensal/serve/oip/privacy.hpp>

namespace commensal::oip {

core::Result<std::string> read_privacy_class(std::string_view said) {
  if (const auto is_one = protocol::check_privacy_class(said); !is_one)
    return core::in_context(fmt::format("the parameter '{}'", kPrivacyClass), is_one.error());
  return std::string(said);
}

core::Result<std::string> privacy_class_of(const ModelConfig& config, const std::string& model,
                                           const std::string& asked) {
  const std::string& own = config.privacy_class;
  if (own.empty() || asked.empty() || own == asked) return asked.empty() ? own : asked;
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "'{}' is served to the privacy class '{}', the request names '{}'", model, own,
                    asked);
}

}  // namespace commensal::oip
