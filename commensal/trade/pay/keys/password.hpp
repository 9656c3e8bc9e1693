// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <string>

namespace commensal::keys {

/// Bytes that leave memory with the object, as crypto::SecretKey does.
class Password {
 public:
  explicit Password(std::string text) : text_(std::move(text)) {}
  Password(const Password&) = default;
  Password& operator=(const Password&) = delete;
  ~Password();

  core::ByteView bytes() const { return core::as_bytes(text_); }
  bool empty() const { return text_.empty(); }
  bool operator==(const Password& other) const {
    return core::equal_in_constant_time(bytes(), other.bytes());
  }

 private:
  std::string text_;
};

/// The first line of a file that only its owner can read. As bytes: no normal form is applied.
/// Errors: those of core::read_file, kPermissionDenied (others can read it), kInvalidArgument
/// (empty).
core::Result<Password> read_password(const core::Path& file);

}  // namespace commensal::keys
