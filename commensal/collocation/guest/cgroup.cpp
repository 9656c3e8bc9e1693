// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <commensal/collocation/guest/cgroup.hpp>
#include <commensal/collocation/guest/scheduling.hpp>

namespace commensal::guest {
namespace {

using core::Path;
using core::Result;

constexpr std::string_view kPrefix = "commensal-guest-";
constexpr std::int64_t kWeightMax = 10'000;
constexpr std::int64_t kMemoryMin = 64 << 20;

/// A file of a group, and what goes into it; nothing: it is left alone.
struct Setting {
  std::string file;
  std::optional<std::string> value;
};

/// A hierarchy in which a guest has a group.
struct Hierarchy {
  Path folder;
  std::vector<Setting> settings;
};

std::optional<std::string> text(const std::optional<std::int64_t>& number) {
  return number ? std::optional(fmt::to_string(*number)) : std::nullopt;
}

std::vector<Hierarchy> hierarchies_of(const Path& root, const ControlGroupLimits& limits,
                                      int version) {
  const auto memory = text(limits.memory_bytes_max);
  if (version == 2) {
    return {{root,
             {{"cpu.weight", text(limits.weight)},
              {"cpu.idle", limits.idle ? std::optional<std::string>("1") : std::nullopt},
              {"memory.max", memory},
              {"memory.swap.max", memory ? std::optional<std::string>("0") : std::nullopt}}}};
  }
  // Version 1 counts shares of 1024 where version 2 has a weight of 100, and knows none below 2.
  const std::int64_t shares =
      limits.idle ? 2 : std::max<std::int64_t>(2, limits.weight * 1024 / 100);
  return {{root / "cpu", {{"cpu.shares", fmt::to_string(shares)}}},
          {root / "memory", {{"memory.limit_in_bytes", memory}}}};
}

int version_at(const Path& root) {
  std::error_code ignored;
  if (std::filesystem::exists(root / "cgroup.controllers", ignored)) return 2;
  return std::filesystem::exists(root / "cpu" / "cgroup.procs", ignored) ? 1 : 0;
}

/// Groups of guests that are gone: the kernel removes none that still has a process.
void remove_old(const Path& folder) {
  std::error_code ignored;
  std::vector<Path> old;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(kPrefix)) old.push_back(entry.path());
  }
  for (const Path& path : old) std::filesystem::remove(path, ignored);
}

Result<void> validity(const ControlGroupLimits& limits) {
  if (limits.weight < 1 || limits.weight > kWeightMax) {
    return core::fail(core::ErrorCode::kInvalidArgument, "a weight of {}, expected 1 to {}",
                      limits.weight, kWeightMax);
  }
  if (limits.memory_bytes_max && *limits.memory_bytes_max < kMemoryMin) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "a memory limit of {} bytes for the guest, expected at least {}MiB",
                      *limits.memory_bytes_max, kMemoryMin >> 20);
  }
  return {};
}

}  // namespace

Result<ControlGroup> ControlGroup::enter(const Path& root, std::int64_t process,
                                         const ControlGroupLimits& limits) {
  COMMENSAL_TRY(validity(limits));
  ControlGroup group;
  group.version_ = version_at(root);
  if (group.version_ == 0) {
    return core::fail(core::ErrorCode::kUnavailable, "no control groups below {}", root.string());
  }
  for (const Hierarchy& hierarchy : hierarchies_of(root, limits, group.version_)) {
    remove_old(hierarchy.folder);
    const Path folder = hierarchy.folder / fmt::format("{}{}", kPrefix, process);
    std::error_code error;
    std::filesystem::create_directory(folder, error);
    if (error) {
      return core::fail(core::ErrorCode::kUnavailable, "cannot make {}: {}", folder.string(),
                        error.message());
    }
    for (const Setting& setting : hierarchy.settings) {
      if (!setting.value) continue;
      const auto set = write_kernel_file(folder / setting.file, *setting.value);
      if (!set) group.missing_.push_back(set.error().message);
      if (set && setting.file.starts_with("memory.") && setting.file != "memory.swap.max") {
        group.limits_memory_ = true;
      }
    }
    group.folders_.push_back(folder);
  }
  for (const Path& folder : group.folders_) {
    COMMENSAL_TRY(write_kernel_file(folder / "cgroup.procs", fmt::to_string(process)));
  }
  return group;
}

}  // namespace commensal::guest
