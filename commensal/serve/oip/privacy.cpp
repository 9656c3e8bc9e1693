// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/privacy.hpp>
#include <commensal/serve/oip/privacy.hpp>

namespace commensal::oip {
namespace {

/// The next letter behind `-` and `_`, in lower case; 0: there is none.
char next_letter(std::string_view& name) {
  while (name.starts_with('-') || name.starts_with('_')) name.remove_prefix(1);
  if (name.empty()) return 0;
  const char letter = name.front();
  name.remove_prefix(1);
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_meant(std::string_view name) {
  std::string_view wanted = kPrivacyClass;
  while (true) {
    const char letter = next_letter(name);
    if (letter != next_letter(wanted)) return false;
    if (letter == 0) return true;
  }
}

}  // namespace

core::Result<std::string> read_privacy_class(std::string_view said) {
  if (const auto is_one = protocol::check_privacy_class(said); !is_one)
    return core::in_context(fmt::format("the parameter '{}'", kPrivacyClass), is_one.error());
  return std::string(said);
}

core::Result<void> check_unread(std::string_view name) {
  if (!is_meant(name)) return {};
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "'{}' is not read here: a privacy class is named by the parameter '{}' of the "
                    "request, or of the model's configuration",
                    name.substr(0, 64), kPrivacyClass);
}

}  // namespace commensal::oip
