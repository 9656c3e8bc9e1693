// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>

namespace commensal::probe {

using core::ErrorCode;
using core::fail;

core::Result<std::string> read_beginning(const core::Path& path, std::size_t bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(ErrorCode::kNotFound, "cannot read '{}'", path.string());
  struct stat about {};
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    (void)close(fd);
    return fail(ErrorCode::kInvalidArgument, "'{}' is no regular file", path.string());
  }
  std::string text(bytes_max, '\0');
  std::size_t size = 0;
  ssize_t got = 1;
  while (got > 0 && size < text.size()) {
    got = ::read(fd, text.data() + size, text.size() - size);
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  (void)close(fd);
  if (got < 0) return fail(ErrorCode::kNotFound, "cannot read '{}'", path.string());
  text.resize(size);
  return text;
}

core::Result<std::string> read_small_file(const core::Path& path, std::size_t bytes_max) {
  COMMENSAL_ASSIGN(std::string text, read_beginning(path, bytes_max + 1));
  if (text.size() <= bytes_max) return text;
  return fail(ErrorCode::kResourceExhausted, "'{}' has more than {} bytes", path.string(),
              bytes_max);
}

std::optional<std::uint64_t> number_in(const core::Path& path) {
  const auto text = read_small_file(path, limits::kKernelNumberBytesMax);
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

core::Result<ProcessStat> parse_process_stat(std::string_view text) {
  // The name is in parentheses and may hold any character: the last one ends it.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      close + 3 > text.size()) {
    return fail(ErrorCode::kDataLoss, "the process's stat has no name in parentheses");
  }
  ProcessStat made{std::string(text.substr(open + 1, close - open - 1)), text[close + 2], 0, 0};
  std::string_view rest = text.substr(close + 2);
  constexpr int kUser = 14, kSystem = 15, kStart = 22;  // counted from 1; the state is 3
  for (int field = 3; field <= kStart; ++field) {
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    if (field == kUser || field == kSystem || field == kStart) {
      std::uint64_t value = 0;
      const auto read = std::from_chars(rest.data(), rest.data() + end, value);
      if (read.ec != std::errc() || read.ptr != rest.data() + end)
        return fail(ErrorCode::kDataLoss, "field {} of the process's stat is no number", field);
      (field == kStart ? made.start_ticks : made.cpu_ticks) += value;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return made;
}

std::optional<ThreadSchedule> read_schedule(const core::Path& path) {
  const auto text = read_small_file(path, limits::kSchedStatBytesMax);
  if (!text) return std::nullopt;
  ThreadSchedule made;
  const char* at = text->data();
  const char* const end = at + text->size();
  for (std::uint64_t* value : {&made.run_ns, &made.wait_ns, &made.slices}) {
    while (at != end && *at == ' ') ++at;
    const auto read = std::from_chars(at, end, *value);
    if (read.ec != std::errc()) return std::nullopt;
    at = read.ptr;
  }
  return made;
}

void for_processes(const core::Path& proc,
                   const std::function<void(int, const core::Path&, const ProcessStat&)>& visit) {
  for_entries(proc, limits::kProbeProcessesMax, [&](const core::Path& folder) {
    int pid = 0;
    const std::string name = folder.filename().string();
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return;
    const auto text = read_small_file(folder / "stat", limits::kProcessStatBytesMax);
    const auto stat = text ? parse_process_stat(*text) : core::Result<ProcessStat>();
    if (text && stat) visit(pid, folder, *stat);
  });
}

}  // namespace commensal::probe
