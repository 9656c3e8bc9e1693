// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/temporary_folder.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace commensal::core {

Result<Path> make_temporary_folder(std::string_view name, const Path& parent) {
  constexpr std::string_view kPlaceholder = "-XXXXXX";  // what mkdtemp replaces
  std::error_code failed;
  const Path folder = parent.empty() ? std::filesystem::temp_directory_path(failed) : parent;
  if (failed) {
    return fail(ErrorCode::kDataLoss, "the system's folder for temporary files: {}",
                failed.message());
  }
  std::string pattern = (folder / (std::string(name) + std::string(kPlaceholder))).string();
  if (::mkdtemp(pattern.data()) != nullptr) return Path(pattern);
  return fail(ErrorCode::kDataLoss, "cannot create '{}': {}", pattern, std::strerror(errno));
}

Result<TemporaryFolder> TemporaryFolder::make(std::string_view name, const Path& parent) {
  COMMENSAL_ASSIGN(Path made, make_temporary_folder(name, parent));
  return TemporaryFolder(std::move(made));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace commensal::core
