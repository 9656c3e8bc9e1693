// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/store.hpp>
#include <thread>

namespace commensal::store {

// What every twin refuses before it touches its medium, so that no caller depends on the generosity
// of one of them. Spaces have 1 to limits::kNameBytesMax bytes, keys at most kStoreKeyBytesMax,
// values at most kStoreValueBytesMax. Error: kResourceExhausted.

core::Result<void> check_key(std::string_view space, core::ByteView key);
core::Result<void> check_batch(const core::Store::Batch& batch);

bool starts_with(core::ByteView key, core::ByteView prefix);

/// The thread that scans, if one does, for core::check: a visitor that called its own store would
/// see one twin's snapshot and another's invalid iterator.
class Scanner {
 public:
  void check_not_this_thread() const;

  class Scan {
   public:
    explicit Scan(Scanner& scanner);
    Scan(const Scan&) = delete;
    Scan& operator=(const Scan&) = delete;
    ~Scan() { scanner_.thread_ = std::thread::id(); }

   private:
    Scanner& scanner_;
  };

 private:
  std::atomic<std::thread::id> thread_;
};

}  // namespace commensal::store
