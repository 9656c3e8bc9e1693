// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/temporary_folder.hpp>

#include <cstdlib>
#include <filesystem>

namespace commensal::core {

Result<Path> make_temporary_folder(std::string_view name) {
  constexpr std::string_view kPlaceholder = "-XXXXXX";  // what mkdtemp replaces
  const std::string named = std::string(name) + std::string(kPlaceholder);
  std::string pattern = (std::filesystem::temp_directory_path() / named).string();
  if (::mkdtemp(pattern.data()) != nullptr) return Path(pattern);
  return fail(ErrorCode::kDataLoss, "cannot create '{}'", pattern);
}

}  // namespace commensal::core
