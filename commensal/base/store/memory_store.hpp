// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/store/bounds.hpp>
#include <map>
#include <mutex>

namespace commensal::store {

/// The twin for tests and simulations: as durable as the object. Contract, thread-safety and
/// errors: core::Store.
class MemoryStore final : public core::Store {
 public:
  core::Result<std::optional<core::Bytes>> get(std::string_view space, core::ByteView key) override;
  core::Result<void> apply(const Batch& batch) override;
  core::Result<void> scan(std::string_view space, core::ByteView prefix,
                          const Visitor& visit) override;

  /// As if made anew.
  void clear();
  /// Of all keys and values.
  std::size_t bytes() const;

 private:
  /// Unsigned bytes; looks up without a copy.
  struct KeyOrder {
    using is_transparent = void;
    bool operator()(core::ByteView a, core::ByteView b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    }
  };
  using Space = std::map<core::Bytes, core::Bytes, KeyOrder>;
  std::map<std::string, Space, std::less<>> spaces_;
  mutable std::mutex mutex_;  // of spaces_
  Scanner scanner_;
};

}  // namespace commensal::store
