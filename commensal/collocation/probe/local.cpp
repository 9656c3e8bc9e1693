// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/decode.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>
#include <commensal/collocation/probe/kinds.hpp>
#include <commensal/collocation/probe/log_tail.hpp>
#include <commensal/collocation/probe/meter.hpp>

namespace commensal::probe {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

/// A probe that reads a figure without waiting.
class LocalProbe : public Probe {
 public:
  LocalProbe(const Dependencies& deps, const Traits& traits)
      : clock_(deps.clock), traits_(traits), liveness_(traits.stale_after_s) {}

  const Traits& traits() const final { return traits_; }

  Sample sample() final {
    const std::int64_t now_ns = clock_.monotonic_ns();
    const Result<Figure> figure = read();
    if (!figure) return {now_ns, 0, State::kInvalid, figure.error().message};
    return liveness_.judge(now_ns, *figure);
  }

 private:
  virtual Result<Figure> read() = 0;

  const core::Clock& clock_;
  Traits traits_;
  Liveness liveness_;
};

class CounterProbe final : public LocalProbe {
 public:
  CounterProbe(const Dependencies& deps, core::Path path)
      : LocalProbe(deps, {"units of the counter", Quantity::kWork, 1, 0, 30}),
        path_(std::move(path)) {}

 private:
  Result<Figure> read() override {
    COMMENSAL_ASSIGN(const std::string text, read_small_file(path_, limits::kProbeCounterBytesMax));
    std::string_view number = text;
    while (!number.empty() && (number.back() == '\n' || number.back() == ' '))
      number.remove_suffix(1);
    COMMENSAL_ASSIGN(const double value, read_figure("the counter", number));
    return Figure{value, std::nullopt};
  }

  core::Path path_;
};

class LogProbe final : public LocalProbe {
 public:
  LogProbe(const Dependencies& deps, Quantity quantity, LogTail tail)
      : LocalProbe(deps,
                   {"units of the log", quantity, 10, quantity == Quantity::kRate ? 10. : 0., 60}),
        tail_(std::move(tail)) {}

 private:
  /// A line that says the same as the one before is a sign of life: its number is part of the
  /// figure's clock.
  Result<Figure> read() override {
    COMMENSAL_ASSIGN(const LogTail::Match match, tail_.newest());
    COMMENSAL_ASSIGN(const double value, read_figure("the log's figure", match.figure));
    return Figure{value, static_cast<double>(match.number)};
  }

  LogTail tail_;
};

class ProcessProbe final : public LocalProbe {
 public:
  ProcessProbe(const Dependencies& deps, int pid)
      : LocalProbe(deps, {"seconds of CPU", Quantity::kWork, 0.01, 0, 10, Device::kProcessors}),
        stat_(deps.proc / std::to_string(pid) / "stat"),
        pid_(pid),
        ticks_per_s_(static_cast<double>(sysconf(_SC_CLK_TCK))) {}

 private:
  Result<Figure> read() override {
    const auto text = read_small_file(stat_, limits::kProcessStatBytesMax);
    if (!text) return fail(ErrorCode::kUnavailable, "there is no process {}", pid_);
    COMMENSAL_ASSIGN(const ProcessStat stat, parse_process_stat(*text));
    if (stat.state == 'Z' || stat.state == 'X')
      return fail(ErrorCode::kUnavailable, "process {} has ended", pid_);
    if (!started_) started_ = stat.start_ticks;
    if (*started_ != stat.start_ticks)
      return fail(ErrorCode::kUnavailable, "process {} has ended, and its number is another's now",
                  pid_);
    return Figure{static_cast<double>(stat.cpu_ticks) / ticks_per_s_, std::nullopt};
  }

  core::Path stat_;
  int pid_;
  double ticks_per_s_;
  std::optional<std::uint64_t> started_{};
};

Result<void> refuse_detail(const Spec& spec) {
  if (spec.detail)
    return fail(ErrorCode::kInvalidArgument, "{} takes nothing after '#'", spec.kind);
  return {};
}

}  // namespace

Result<std::unique_ptr<Probe>> open_counter(const Spec& spec, const Dependencies& deps) {
  COMMENSAL_TRY(refuse_detail(spec));
  return std::make_unique<CounterProbe>(deps, spec.place);
}

Result<std::unique_ptr<Probe>> open_log(const Spec& spec, const Dependencies& deps) {
  if (!spec.detail)
    return fail(ErrorCode::kInvalidArgument,
                "expected log:PATH#REGEX with one group, such as log:/var/log/a.log#step (\\d+)");
  std::string_view pattern = *spec.detail;
  Quantity quantity = Quantity::kWork;
  if (pattern.starts_with("rate:")) quantity = Quantity::kRate;
  if (pattern.starts_with("rate:") || pattern.starts_with("work:")) pattern.remove_prefix(5);
  COMMENSAL_ASSIGN(LogTail tail, LogTail::open(spec.place, pattern));
  return std::make_unique<LogProbe>(deps, quantity, std::move(tail));
}

Result<std::unique_ptr<Probe>> open_process(const Spec& spec, const Dependencies& deps) {
  COMMENSAL_TRY(refuse_detail(spec));
  int pid = 0;
  const char* const end = spec.place.data() + spec.place.size();
  const auto read = std::from_chars(spec.place.data(), end, pid);
  if (read.ec != std::errc() || read.ptr != end || pid <= 0)
    return fail(ErrorCode::kInvalidArgument, "expected process:PID, got '{}'", spec.place);
  return std::make_unique<ProcessProbe>(deps, pid);
}

}  // namespace commensal::probe
