// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/store/bounds.hpp>

namespace commensal::store {

using core::ErrorCode;

core::Result<void> check_key(std::string_view space, core::ByteView key) {
  if (space.empty() || space.size() > limits::kNameBytesMax) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "store: a space's name of {} bytes, expected "
                      "1 to {}",
                      space.size(), limits::kNameBytesMax);
  }
  if (key.size() > limits::kStoreKeyBytesMax) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "store: a key of {} bytes in '{}', at most {} are accepted", key.size(),
                      space, limits::kStoreKeyBytesMax);
  }
  return {};
}

core::Result<void> check_batch(const core::Store::Batch& batch) {
  for (const core::Store::Write& write : batch) {
    COMMENSAL_TRY(check_key(write.space, write.key));
    if (write.value && write.value->size() > limits::kStoreValueBytesMax) {
      return core::fail(ErrorCode::kResourceExhausted,
                        "store: a value of {} bytes in '{}', at most {} are accepted",
                        write.value->size(), write.space, limits::kStoreValueBytesMax);
    }
  }
  return {};
}

bool starts_with(core::ByteView key, core::ByteView prefix) {
  return key.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), key.begin());
}

Scanner::Scan::Scan(Scanner& scanner) : scanner_(scanner) {
  scanner.check_not_this_thread();
  scanner.thread_ = std::this_thread::get_id();
}

void Scanner::check_not_this_thread() const {
  core::check(thread_ != std::this_thread::get_id(), "a visitor of a scan called its own store");
}

}  // namespace commensal::store
