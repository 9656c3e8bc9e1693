// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/collocation/probe/host_time.hpp>
#include <commensal/collocation/probe/timed.hpp>
#include <functional>

namespace commensal::probe {
namespace {

constexpr double kLookAgainMinS = 5;
constexpr double kLookAgainMaxS = 600;

class TimedProbe final : public Probe {
 public:
  using Find = std::function<core::Result<int>()>;

  TimedProbe(std::unique_ptr<Probe> probe, const core::Path& proc, Find find)
      : probe_(std::move(probe)), traits_(probe_->traits()), proc_(proc), find_(std::move(find)) {
    traits_.signals =
        "work by the time that its process needed (on a processor, or waiting for one), and by the "
        "clock; by the clock alone where its process may not be looked at";
  }

  const Traits& traits() const override { return traits_; }
  Sample sample() override {
    Sample made = probe_->sample();
    if (!made.is_fresh()) return made;
    const auto host = read(made.at_ns);
    if (host) made.host = *host;
    if (!host) made.by_clock = host.error().message + ": by the clock";
    return made;
  }

 private:
  core::Result<HostSeconds> read(std::int64_t now_ns) {
    if (!time_ && now_ns < look_again_ns_) return tl::unexpected(why_not_);
    auto made = read_process();
    if (made) {
      look_again_s_ = kLookAgainMinS;
      if (time_->has_waits()) return made;
      return core::fail(core::ErrorCode::kUnavailable,
                        "what the host waits for a processor is not told here");
    }
    time_.reset();
    why_not_ = made.error();
    look_again_ns_ = now_ns + static_cast<std::int64_t>(look_again_s_ * 1e9);
    look_again_s_ = std::min(2 * look_again_s_, kLookAgainMaxS);
    return made;
  }

  core::Result<HostSeconds> read_process() {
    if (!time_) {
      COMMENSAL_ASSIGN(const int pid, find_());
      time_.emplace(proc_, pid);
    }
    return time_->read();
  }

  std::unique_ptr<Probe> probe_;
  Traits traits_;
  core::Path proc_;
  Find find_;
  std::optional<HostTime> time_{};
  core::Error why_not_{};  // of the last look
  std::int64_t look_again_ns_ = 0;
  double look_again_s_ = kLookAgainMinS;
};

}  // namespace

bool is_on_loopback(const Spec& spec) {
  const auto endpoint = parse_endpoint(spec.place);
  return endpoint && (endpoint->host.starts_with("127.") || endpoint->host == "::1");
}

core::Result<std::unique_ptr<Probe>> with_host_time(std::unique_ptr<Probe> probe, const Spec& spec,
                                                    const Dependencies& deps) {
  const int pid = *spec.process;
  TimedProbe::Find find = [pid] { return core::Result<int>(pid); };
  if (pid == 0) {
    if (!is_on_loopback(spec))
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "'@listener' needs an endpoint on loopback, not '{}'", spec.place);
    COMMENSAL_ASSIGN(const Endpoint endpoint, parse_endpoint(spec.place));
    find = [proc = deps.proc, endpoint]() -> core::Result<int> {
      if (const auto pid = busy_listener_at(proc, endpoint.host, endpoint.port)) return *pid;
      return core::fail(core::ErrorCode::kNotFound,
                        "no process that works and listens at port {} may be looked at",
                        endpoint.port);
    };
  }
  return std::make_unique<TimedProbe>(std::move(probe), deps.proc, std::move(find));
}

}  // namespace commensal::probe
