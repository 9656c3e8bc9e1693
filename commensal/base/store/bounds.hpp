// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>

namespace commensal::store {

// What every twin refuses before it touches its medium, so that no caller depends on the generosity
// of one of them. Spaces have 1 to limits::kNameBytesMax bytes, keys at most kStoreKeyBytesMax,
// values at most kStoreValueBytesMax. Error: kResourceExhausted.

core::Result<void> check_key(std::string_view space, core::ByteView key);
core::Result<void> check_batch(const core::Store::Batch& batch);

bool starts_with(core::ByteView key, core::ByteView prefix);

/// Marks a scan, for core::check: a visitor that called its own store would see one twin's
/// snapshot and another's invalid iterator.
class ScanGuard {
 public:
  explicit ScanGuard(bool& scanning);
  ScanGuard(const ScanGuard&) = delete;
  ScanGuard& operator=(const ScanGuard&) = delete;
  ~ScanGuard() { scanning_ = false; }

 private:
  bool& scanning_;
};
void check_not_scanning(bool scanning);

}  // namespace commensal::store
