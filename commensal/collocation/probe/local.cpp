// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/decode.hpp>
#include <commensal/collocation/probe/host_time.hpp>
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
    Sample made = liveness_.judge(now_ns, *figure);
    made.host = host();
    return made;
  }

 private:
  virtual Result<Figure> read() = 0;
  virtual std::optional<HostSeconds> host() const { return std::nullopt; }

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
      : LocalProbe(deps, {"seconds of CPU", Quantity::kWork, 0.01, 0, 10, Device::kProcessors,
                          "the share of the processors' time it wanted that it got, and time by "
                          "the clock; not how fast it worked meanwhile"}),
        time_(deps.proc, pid) {}

 private:
  Result<Figure> read() override {
    COMMENSAL_ASSIGN(last_, time_.read());
    return Figure{last_.run_s};
  }
  std::optional<HostSeconds> host() const override {
    return time_.has_waits() ? std::optional(last_) : std::nullopt;
  }

  HostTime time_;
  HostSeconds last_;
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
  if (spec.process)
    return fail(ErrorCode::kInvalidArgument, "process:PID names its process already");
  int pid = 0;
  const char* const end = spec.place.data() + spec.place.size();
  const auto read = std::from_chars(spec.place.data(), end, pid);
  if (read.ec != std::errc() || read.ptr != end || pid <= 0)
    return fail(ErrorCode::kInvalidArgument, "expected process:PID, got '{}'", spec.place);
  return std::make_unique<ProcessProbe>(deps, pid);
}

}  // namespace commensal::probe
