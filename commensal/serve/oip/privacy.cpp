// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/privacy.hpp>
#include <commensal/serve/oip/privacy.hpp>

namespace commensal::oip {

core::Result<std::string> read_privacy_class(std::string_view said) {
  if (const auto is_one = protocol::check_privacy_class(said); !is_one)
    return core::in_context(fmt::format("the parameter '{}'", kPrivacyClass), is_one.error());
  return std::string(said);
}

}  // namespace commensal::oip
