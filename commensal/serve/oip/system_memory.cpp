// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/result.hpp>
#include <commensal/serve/oip/system_memory.hpp>

namespace commensal::oip {
namespace {

using core::ErrorCode;
using core::fail;

bool lies_within(std::int64_t offset, std::int64_t bytes, std::int64_t size) {
  return offset >= 0 && bytes >= 0 && bytes <= size && offset <= size - bytes;
}

/// All of it, or false.
template <class Byte, class Move>
bool move_all(std::span<Byte> bytes, std::int64_t offset, const Move& move) {
  while (!bytes.empty()) {
    const ssize_t moved = move(bytes.data(), bytes.size(), offset);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(moved));
    offset += moved;
  }
  return true;
}

}  // namespace

core::Result<void> SystemMemory::add(const std::string& account, const Region& region) {
  if (region.name.empty() || region.name.size() > limits::kTextBytesMax) {
    return fail(ErrorCode::kInvalidArgument, "a region's name has 1 to {} bytes",
                limits::kTextBytesMax);
  }
  auto file = std::make_shared<const core::Descriptor>(
      ::shm_open(region.key.c_str(), O_RDWR | O_CLOEXEC, 0));
  struct stat status = {};
  if (!file->valid() || ::fstat(file->get(), &status) != 0) {
    return fail(ErrorCode::kInvalidArgument,
                "Unable to open shared memory region: '{}' of key '{}'", region.name, region.key);
  }
  if (region.bytes <= 0 || !lies_within(region.offset, region.bytes, status.st_size)) {
    return fail(ErrorCode::kInvalidArgument,
                "failed to register shared memory region '{}': offset {} and {} bytes, of {}",
                region.name, region.offset, region.bytes, status.st_size);
  }
  const std::lock_guard lock(mutex_);
  if (regions_.contains({account, region.name})) {
    return fail(ErrorCode::kAlreadyExists, "shared memory region '{}' already in manager",
                region.name);
  }
  if (regions_.size() >= limits::kRegionsMax) {
    return fail(ErrorCode::kResourceExhausted, "there are {} regions, the most that are kept",
                regions_.size());
  }
  regions_.emplace(Key{account, region.name}, Open{region, std::move(file)});
  return {};
}

void SystemMemory::remove(const std::string& account, const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(regions_, [&](const auto& one) {
    return one.first.first == account && (name.empty() || one.first.second == name);
  });
}

core::Result<std::vector<SystemMemory::Region>> SystemMemory::list(const std::string& account,
                                                                   const std::string& name) const {
  const std::lock_guard lock(mutex_);
  std::vector<Region> listed;
  for (const auto& [key, open] : regions_) {
    if (key.first == account && (name.empty() || key.second == name)) listed.push_back(open.region);
  }
  if (!listed.empty() || name.empty()) return listed;
  return fail(ErrorCode::kNotFound, "Unable to find system shared memory region: '{}'", name);
}

core::Result<SystemMemory::Open> SystemMemory::find(const std::string& account, const Place& place,
                                                    std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find({account, place.region});
  if (found == regions_.end()) {
    return fail(ErrorCode::kInvalidArgument, "Unable to find shared memory region: '{}'",
                place.region);
  }
  const Region& region = found->second.region;
  if (std::cmp_greater(bytes, place.bytes) ||
      !lies_within(place.offset, place.bytes, region.bytes)) {
    return fail(ErrorCode::kInvalidArgument,
                "Invalid offset + byte size for shared memory region: '{}': {} + {}, of {}, for {} "
                "bytes",
                place.region, place.offset, place.bytes, region.bytes, bytes);
  }
  return found->second;
}

core::Result<void> SystemMemory::check(const std::string& account, const Place& place) const {
  return find(account, place, 0).map([](const Open&) {});
}

core::Result<void> SystemMemory::read(const std::string& account, const Place& from,
                                      std::span<std::uint8_t> to) const {
  COMMENSAL_ASSIGN(const Open open, find(account, from, to.size()));
  const bool is_read = move_all(to, open.region.offset + from.offset,
                                [&](std::uint8_t* data, std::size_t size, std::int64_t at) {
                                  return ::pread(open.file->get(), data, size, at);
                                });
  if (is_read) return {};
  return fail(ErrorCode::kInvalidArgument, "shared memory region '{}' was cut off", from.region);
}

core::Result<void> SystemMemory::write(const std::string& account, const Place& to,
                                       core::ByteView from) const {
  COMMENSAL_ASSIGN(const Open open, find(account, to, from.size()));
  const bool is_written =
      move_all(from, open.region.offset + to.offset,
               [&](const std::uint8_t* data, std::size_t size, std::int64_t at) {
                 return ::pwrite(open.file->get(), data, size, at);
               });
  if (is_written) return {};
  return fail(ErrorCode::kInvalidArgument, "shared memory region '{}' cannot be written",
              to.region);
}

}  // namespace commensal::oip
