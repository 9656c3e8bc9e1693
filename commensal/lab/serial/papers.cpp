// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/serial/local_rollout.hpp>

namespace commensal::serial {

core::Path opening_file(const core::Path& folder, std::uint64_t step) {
  return folder / fmt::format("step-{}.opening", step);
}

core::Path verdict_file(const core::Path& folder, std::uint64_t step) {
  return folder / fmt::format("step-{}.verdict", step);
}

core::Result<void> write_papers(const CaughtStep& wrong, const core::Path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  COMMENSAL_TRY(core::write_file_atomically(opening_file(folder, wrong.step), wrong.opening));
  if (wrong.ruling.file.empty()) return {};
  return core::write_file_atomically(verdict_file(folder, wrong.step), wrong.ruling.file);
}

}  // namespace commensal::serial
