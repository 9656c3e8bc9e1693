// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace commensal::oip {

/// Where elements lie in memory that a client has registered.
struct Place {
  std::string region;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

/// POSIX shared memory of clients on this host (Triton's "System Shared Memory Extension"), by
/// account, as accounts are not to see each other's. It is read and written as a file: what a
/// client cuts off meanwhile is an error, no fault of ours. Thread-safety: any thread.
class SystemMemory {
 public:
  struct Region {
    std::string name;
    std::string key;  // of shm_open()
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };

  /// Errors: kAlreadyExists, kInvalidArgument (no such object, or not as large),
  /// kResourceExhausted (limits::kRegionsMax).
  core::Result<void> add(const std::string& account, const Region& region);
  /// "": all of the account.
  void remove(const std::string& account, const std::string& name);
  /// "": all of the account. Error: kNotFound.
  core::Result<std::vector<Region>> list(const std::string& account, const std::string& name) const;

  /// That the account has such a place. Error: kInvalidArgument.
  core::Result<void> check(const std::string& account, const Place& place) const;
  /// Errors: kInvalidArgument (no such region, beyond its end, cut off meanwhile).
  core::Result<void> read(const std::string& account, const Place& from,
                          std::span<std::uint8_t> to) const;
  core::Result<void> write(const std::string& account, const Place& to, core::ByteView from) const;

 private:
  struct Open {
    Region region;
    std::shared_ptr<const core::Descriptor> file;
  };
  using Key = std::pair<std::string, std::string>;  // account, name

  core::Result<Open> find(const std::string& account, const Place& place, std::size_t bytes) const;

  mutable std::mutex mutex_;
  std::map<Key, Open> regions_;
};

}  // namespace commensal::oip
