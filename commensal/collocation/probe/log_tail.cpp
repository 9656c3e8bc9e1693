// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <re2/re2.h>

#include <algorithm>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/log_tail.hpp>
#include <optional>
#include <vector>

namespace commensal::probe {

using core::ErrorCode;
using core::fail;
using core::Result;

struct LogTail::State {
  State(core::Path p, std::string_view text) : path(std::move(p)), pattern(text, options()) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { shut(); }

  /// Logs are bytes, in whatever encoding.
  static RE2::Options options() {
    RE2::Options made(RE2::Latin1);
    made.set_log_errors(false);
    return made;
  }
  void shut() {
    if (fd >= 0) (void)close(fd);
    fd = -1;
    line.clear();
    is_skipping = false;
  }
  /// Opens what the path leads to now.
  Result<void> reopen();
  void read_rest();
  void take(std::string_view bytes);
  void end_line();

  core::Path path;
  RE2 pattern;
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

/// In time that is linear in the line, whatever the pattern.
void LogTail::State::end_line() {
  std::string figure;
  if (line.ends_with('\r')) line.pop_back();
  if (!is_skipping && RE2::PartialMatch(line, pattern, &figure))
    match = Match{std::move(figure), (match ? match->number : 0) + 1};
  line.clear();
  is_skipping = false;
}

void LogTail::State::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const std::size_t room = limits::kProbeLineBytesMax - line.size();
    if (!is_skipping) line.append(piece.substr(0, room));
    if (end == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(end + 1);
  }
}

void LogTail::State::read_rest() {
  struct stat now {};
  if (fstat(fd, &now) != 0) return;
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
    take({buffer.data(), static_cast<std::size_t>(got)});
  }
}

Result<LogTail> LogTail::open(core::Path path, std::string_view pattern) {
  if (pattern.size() > limits::kProbePatternBytesMax)
    return fail(ErrorCode::kInvalidArgument, "a pattern has at most {} bytes",
                limits::kProbePatternBytesMax);
  auto state = std::make_unique<State>(std::move(path), pattern);
  if (!state->pattern.ok())
    return fail(ErrorCode::kInvalidArgument, "'{}' is no regular expression: {}", pattern,
                state->pattern.error());
  if (state->pattern.NumberOfCapturingGroups() < 1)
    return fail(ErrorCode::kInvalidArgument,
                "'{}' has no group: put the figure in parentheses, such as step (\\d+)", pattern);
  return LogTail(std::move(state));
}

LogTail::LogTail(std::unique_ptr<State> state) : state_(std::move(state)) {}
LogTail::LogTail(LogTail&&) noexcept = default;
LogTail::~LogTail() = default;

Result<LogTail::Match> LogTail::newest() {
  State& state = *state_;
  struct stat now {};
  const bool is_there = stat(state.path.c_str(), &now) == 0;
  if (state.fd >= 0) {
    state.read_rest();  // of the old file too, if the path leads to another one now
    const bool is_same =
        is_there && now.st_ino == state.about.st_ino && now.st_dev == state.about.st_dev;
    if (is_there && !is_same) state.shut();
  }
  if (state.fd < 0) {
    COMMENSAL_TRY(state.reopen());
    state.read_rest();
  }
  if (!state.match)
    return fail(ErrorCode::kUnavailable, "no line of '{}' fits the pattern yet",
                state.path.string());
  return *state.match;
}

}  // namespace commensal::probe
