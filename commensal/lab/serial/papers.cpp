// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/serial/world.hpp>

namespace commensal::serial {

core::Path task_file(const core::Path& folder, std::uint64_t step) {
  return folder / fmt::format("link-{}.task", step);
}

core::Path verdict_file(const core::Path& folder, std::uint64_t step) {
  return folder / fmt::format("link-{}.verdict", step);
}

core::Result<void> write_papers(const CaughtLink& link, const core::Path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  COMMENSAL_TRY(core::write_file_atomically(task_file(folder, link.step), link.task));
  if (link.ruling.file.empty()) return {};
  return core::write_file_atomically(verdict_file(folder, link.step), link.ruling.file);
}

}  // namespace commensal::serial
