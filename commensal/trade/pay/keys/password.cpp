// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>

#include <commensal/trade/pay/keys/password.hpp>

namespace commensal::keys {

using core::ErrorCode;
using core::fail;

Password::~Password() { OPENSSL_cleanse(text_.data(), text_.size()); }

core::Result<Password> read_password(const core::Path& file) {
  COMMENSAL_ASSIGN(core::Bytes bytes, core::read_file(file, limits::kKeyFileBytesMax));
  std::error_code failed;
  const auto mode = std::filesystem::status(file, failed).permissions();
  using enum std::filesystem::perms;
  if (failed || (mode & (group_read | others_read)) != none) {
    return fail(ErrorCode::kPermissionDenied,
                "others can read the password file '{}': expected mode 0600", file.string());
  }
  const std::string_view text = core::as_text(bytes);
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  Password password{std::string(line)};
  OPENSSL_cleanse(bytes.data(), bytes.size());
  if (!password.empty()) return password;
  return fail(ErrorCode::kInvalidArgument, "the password file '{}' begins with an empty line",
              file.string());
}

}  // namespace commensal::keys
