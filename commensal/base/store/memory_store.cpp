// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/store/bounds.hpp>
#include <commensal/base/store/memory_store.hpp>

namespace commensal::store {

using core::Bytes;
using core::ByteView;

core::Result<std::optional<Bytes>> MemoryStore::get(std::string_view space, ByteView key) {
  scanner_.check_not_this_thread();
  COMMENSAL_TRY(check_key(space, key));
  const std::lock_guard lock(mutex_);
  const auto entries = spaces_.find(space);
  if (entries == spaces_.end()) return std::nullopt;
  const auto entry = entries->second.find(key);
  if (entry == entries->second.end()) return std::nullopt;
  return entry->second;
}

core::Result<void> MemoryStore::apply(const Batch& batch) {
  scanner_.check_not_this_thread();
  COMMENSAL_TRY(check_batch(batch));
  const std::lock_guard lock(mutex_);
  for (const Write& write : batch) {
    Space& entries = spaces_[write.space];
    if (write.value) {
      entries.insert_or_assign(write.key, *write.value);
    } else {
      entries.erase(write.key);
    }
  }
  return {};
}

core::Result<void> MemoryStore::scan(std::string_view space, ByteView prefix,
                                     const Visitor& visit) {
  const Scanner::Scan scan(scanner_);
  COMMENSAL_TRY(check_key(space, prefix));
  const std::lock_guard lock(mutex_);
  const auto entries = spaces_.find(space);
  if (entries == spaces_.end()) return {};
  for (auto entry = entries->second.lower_bound(prefix);
       entry != entries->second.end() && starts_with(entry->first, prefix); ++entry) {
    if (!visit(entry->first, entry->second)) break;
  }
  return {};
}

void MemoryStore::clear() {
  const std::lock_guard lock(mutex_);
  spaces_.clear();
}

std::size_t MemoryStore::bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [name, space] : spaces_) {
    for (const auto& [key, value] : space) bytes += key.size() + value.size();
  }
  return bytes;
}

}  // namespace commensal::store
