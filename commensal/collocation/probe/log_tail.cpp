// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/regex.hpp>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/log_tail.hpp>
#include <optional>
#include <vector>

namespace commensal::probe {

using core::ErrorCode;
using core::fail;
using core::Result;

struct LogTail::State {
  State(core::Path p, boost::regex r) : path(std::move(p)), pattern(std::move(r)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { shut(); }

  void shut() {
    if (fd >= 0) (void)close(fd);
    fd = -1;
    line.clear();
    is_skipping = false;
  }
  /// Opens what the path leads to now.
  Result<void> reopen();
  Result<void> read_rest();
  Result<void> take(std::string_view bytes);
  Result<void> end_line();

  core::Path path;
  boost::regex pattern;
  int fd = -1;
  struct stat about {};
  std::int64_t offset = 0;
  std::string line;          // as much of it as is there
  bool is_skipping = false;  // up to the next line
  std::optional<Match> match;
};

Result<void> LogTail::State::reopen() {
  shut();
  fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(ErrorCode::kNotFound, "cannot read '{}'", path.string());
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    shut();
    return fail(ErrorCode::kInvalidArgument, "'{}' is no regular file", path.string());
  }
  offset = 0;
  return {};
}

Result<void> LogTail::State::end_line() {
  boost::smatch groups;
  try {
    if (!is_skipping && boost::regex_search(line, groups, pattern))
      match = Match{groups[1].str(), (match ? match->number : 0) + 1};
  } catch (const std::runtime_error&) {  // Boost's bound on how long a pattern may take
    line.clear();
    return fail(ErrorCode::kResourceExhausted, "the pattern takes too long on a line of '{}'",
                path.string());
  }
  line.clear();
  is_skipping = false;
  return {};
}

Result<void> LogTail::State::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const std::size_t room = limits::kProbeLineBytesMax - line.size();
    if (!is_skipping) line.append(piece.substr(0, room));
    if (end == std::string_view::npos) return {};
    COMMENSAL_TRY(end_line());
    bytes.remove_prefix(end + 1);
  }
  return {};
}

Result<void> LogTail::State::read_rest() {
  struct stat now {};
  if (fstat(fd, &now) != 0) return {};
  if (now.st_size < offset) {  // truncated, and written anew
    offset = 0;
    line.clear();
    is_skipping = false;
  }
  const auto most = static_cast<std::int64_t>(limits::kProbeLogBytesMax);
  if (now.st_size - offset > most) {
    offset = now.st_size - most;
    line.clear();
    is_skipping = true;  // it begins in the middle of a line
  }
  std::vector<char> buffer(1 << 16);
  while (offset < now.st_size) {
    const auto left = static_cast<std::size_t>(now.st_size - offset);
    const ssize_t got = pread(fd, buffer.data(), std::min(buffer.size(), left), offset);
    if (got <= 0) break;
    offset += got;
    COMMENSAL_TRY(take({buffer.data(), static_cast<std::size_t>(got)}));
  }
  return {};
}

Result<LogTail> LogTail::open(core::Path path, std::string_view pattern) {
  if (pattern.size() > limits::kProbePatternBytesMax)
    return fail(ErrorCode::kInvalidArgument, "a pattern has at most {} bytes",
                limits::kProbePatternBytesMax);
  boost::regex made;
  try {
    made.assign(pattern.begin(), pattern.end(), boost::regex::perl);
  } catch (const std::runtime_error&) {
    return fail(ErrorCode::kInvalidArgument, "'{}' is no regular expression", pattern);
  }
  if (made.mark_count() < 1)
    return fail(ErrorCode::kInvalidArgument,
                "'{}' has no group: put the figure in parentheses, such as step (\\d+)", pattern);
  return LogTail(std::make_unique<State>(std::move(path), std::move(made)));
}

LogTail::LogTail(std::unique_ptr<State> state) : state_(std::move(state)) {}
LogTail::LogTail(LogTail&&) noexcept = default;
LogTail::~LogTail() = default;

Result<LogTail::Match> LogTail::newest() {
  State& state = *state_;
  struct stat now {};
  const bool is_there = stat(state.path.c_str(), &now) == 0;
  if (state.fd >= 0) {
    COMMENSAL_TRY(state.read_rest());  // of the old file too, if the path leads to another one now
    const bool is_same =
        is_there && now.st_ino == state.about.st_ino && now.st_dev == state.about.st_dev;
    if (is_there && !is_same) state.shut();
  }
  if (state.fd < 0) {
    COMMENSAL_TRY(state.reopen());
    COMMENSAL_TRY(state.read_rest());
  }
  if (!state.match)
    return fail(ErrorCode::kUnavailable, "no line of '{}' fits the pattern yet",
                state.path.string());
  return *state.match;
}

}  // namespace commensal::probe
