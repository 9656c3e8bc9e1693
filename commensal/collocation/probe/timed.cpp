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
  using Find = std::function<std::optional<int>()>;

  TimedProbe(std::unique_ptr<Probe> probe, const core::Path& proc, Find find)
      : probe_(std::move(probe)), traits_(probe_->traits()), proc_(proc), find_(std::move(find)) {
    traits_.signals =
        "work by the time that its process needed (on a processor, or waiting for one), and by the "
        "clock; by the clock alone where its process may not be looked at";
  }

  const Traits& traits() const override { return traits_; }
  Sample sample() override {
    Sample made = probe_->sample();
    if (made.is_fresh()) made.host = host(made.at_ns);
    return made;
  }

 private:
  std::optional<HostSeconds> host(std::int64_t now_ns) {
    if (!time_) {
      if (now_ns < look_again_ns_) return std::nullopt;
      const auto pid = find_();
      if (pid) time_.emplace(proc_, *pid);
    }
    const auto made = time_ ? time_->read() : core::Result<HostSeconds>();
    if (time_ && made) {
      look_again_s_ = kLookAgainMinS;
      return time_->has_waits() ? std::optional(*made) : std::nullopt;
    }
    time_.reset();
    look_again_ns_ = now_ns + static_cast<std::int64_t>(look_again_s_ * 1e9);
    look_again_s_ = std::min(2 * look_again_s_, kLookAgainMaxS);
    return std::nullopt;
  }

  std::unique_ptr<Probe> probe_;
  Traits traits_;
  core::Path proc_;
  Find find_;
  std::optional<HostTime> time_{};
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
  TimedProbe::Find find = [pid] { return std::optional(pid); };
  if (pid == 0) {
    if (!is_on_loopback(spec))
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "'@listener' needs an endpoint on loopback, not '{}'", spec.place);
    COMMENSAL_ASSIGN(const Endpoint endpoint, parse_endpoint(spec.place));
    find = [proc = deps.proc, endpoint] {
      return busy_listener_at(proc, endpoint.host, endpoint.port);
    };
  }
  return std::make_unique<TimedProbe>(std::move(probe), deps.proc, std::move(find));
}

}  // namespace commensal::probe
