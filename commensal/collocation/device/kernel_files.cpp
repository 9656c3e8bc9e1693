// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <commensal/collocation/device/kernel_files.hpp>
#include <commensal/collocation/probe/small_file.hpp>

namespace commensal::device {

std::optional<std::uint64_t> number_in(const core::Path& path) {
  constexpr std::size_t kNumberBytesMax = 64;
  const auto text = probe::read_small_file(path, kNumberBytesMax);
  std::uint64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

void for_entries(const core::Path& folder, std::size_t most,
                 const std::function<void(const core::Path&)>& visit) {
  std::error_code error;
  std::size_t seen = 0;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (++seen > most) return;
    visit(at->path());
  }
}

}  // namespace commensal::device
