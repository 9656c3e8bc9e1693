// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/pack_files.hpp>
#include <vector>

namespace commensal::graph {

namespace {

constexpr std::string_view kSuffix = ".pack";
constexpr std::size_t kHalf = sizeof(core::Digest) / 2;

}  // namespace

core::Digest PackFilesOfModel::name_of(const core::Digest& name) const {
  crypto::Sha256 hash = crypto::begin_tagged_hash("commensal.worker.pack");
  hash.update(model_);
  hash.update(name);
  core::Digest made = hash.finish();
  const core::Digest begin = crypto::tagged_hash("commensal.worker.packs", model_);
  std::ranges::copy_n(begin.begin(), kHalf, made.begin());
  return made;
}

PackFilesInFolder::PackFilesInFolder(core::Path folder, std::int64_t bytes_max)
    : folder_(std::move(folder)), bytes_max_(bytes_max) {
  std::error_code ignored;  // then nothing is kept
  if (std::filesystem::create_directories(folder_, ignored)) {
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, ignored);
  }
}

core::Path PackFilesInFolder::path_of(const core::Digest& name) const {
  return folder_ / (core::to_hex(name) + std::string(kSuffix));
}

std::optional<PackFiles::File> PackFilesInFolder::open(const core::Digest& name) {
  core::Descriptor file(::open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  // Used now; a failure costs its turn only.
  ::utimensat(AT_FDCWD, path_of(name).c_str(), nullptr, 0);
  return File{std::move(file), static_cast<std::size_t>(status.st_size)};
}

void PackFilesInFolder::keep(const core::Digest& name, std::span<const core::ByteView> parts) {
  std::int64_t bytes = 0;
  for (const core::ByteView part : parts) bytes += std::ssize(part);
  if (bytes > bytes_max_) return;
  if (core::replace_file(path_of(name), parts, 0600)) make_room();
}

void PackFilesInFolder::remove_all_like(const core::Digest& name) {
  const std::string begin = core::to_hex(name).substr(0, 2 * kHalf);
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder_, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code ignored;
    if (at->path().filename().string().starts_with(begin))
      std::filesystem::remove(at->path(), ignored);
  }
}

void PackFilesInFolder::make_room() const {
  struct File {
    std::filesystem::file_time_type used;
    std::int64_t bytes;
    core::Path path;
  };
  std::vector<File> files;
  std::int64_t total = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder_, failed), end; !failed && at != end;
       at.increment(failed)) {
    // A process that died left its temporary file, whose name has more behind the suffix.
    if (at->path().filename().string().find(kSuffix) != 2 * sizeof(core::Digest)) continue;
    std::error_code gone;
    const auto bytes = static_cast<std::int64_t>(at->file_size(gone));
    const auto used = gone ? std::filesystem::file_time_type() : at->last_write_time(gone);
    if (gone) continue;
    files.push_back({used, bytes, at->path()});
    total += bytes;
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (total <= bytes_max_) break;
    if (std::filesystem::remove(file.path, failed)) total -= file.bytes;
  }
}

}  // namespace commensal::graph
