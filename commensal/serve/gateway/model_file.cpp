// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/model_file.hpp>

namespace commensal::gateway {

bool holds(const core::Path& file, core::ByteView bytes) {
  const auto found = core::MappedFile::open(file, limits::kModelBytesMax);
  return found && std::ranges::equal((*found)->bytes(), bytes);
}

core::Result<void> check_model_file(const core::Path& file, const core::Digest& content) {
  const auto found = core::MappedFile::open(file, limits::kModelBytesMax);
  if (found && crypto::sha256((*found)->bytes()) == content) return {};
  return core::fail(core::ErrorCode::kDataLoss, "'{}' is {}", file.string(),
                    found ? "damaged" : "missing or cannot be read");
}

}  // namespace commensal::gateway
