// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/guest/cgroup.hpp>
#include <commensal/collocation/guest/guest_process.hpp>
#include <commensal/collocation/guest/scheduling.hpp>
#include <commensal/collocation/probe/discover.hpp>
#include <commensal/collocation/probe/throttle.hpp>
#include <thread>

namespace commensal::guest {
namespace {

using core::Result;
using Say = std::function<void(const std::string&)>;

/// What the system does not grant is said, not fatal: the governor sees what it costs.
void tell(const Say& say, const Result<void>& done) {
  if (!done) say(done.error().message);
}

void step_back(const Say& say) {
  tell(say, die_first());
  const auto session = step_back_as_session();
  if (!session && session.error().code != core::ErrorCode::kFailedPrecondition) tell(say, session);
}

/// In a control group where there are any, else by the limit of the process itself.
Result<void> limit_memory(const GuestProcessOptions& options) {
  const auto bytes = static_cast<std::int64_t>(options.memory_bytes_max);
  const ControlGroupLimits share{.weight = static_cast<std::int64_t>(options.client.guest.weight),
                                 .memory_bytes_max = bytes};
  const auto group = ControlGroup::enter("/sys/fs/cgroup", ::getpid(), share);
  if (group && group->limits_memory()) {
    for (const std::string& missing : group->missing()) options.client.say(missing);
    return {};
  }
  if (!group && group.error().code == core::ErrorCode::kInvalidArgument) {
    return tl::unexpected(group.error());
  }
  return limit_own_memory(bytes);
}

bool is_off(governor::Phase phase) {
  return phase == governor::Phase::kWaiting || phase == governor::Phase::kBackOff ||
         phase == governor::Phase::kAlone;
}

GuestProcessOptions completed(GuestProcessOptions options) {
  GuestClientOptions& client = options.client;
  if (client.folder.empty()) client.folder = runtime_folder();
  client.guest.pid = ::getpid();
  client.guest.name = client.guest.name.substr(0, limits::kGuestNameBytesMax);
  client.processors = static_cast<double>(std::max(1U, std::thread::hardware_concurrency()));
  return options;
}

}  // namespace

GuestProcess::GuestProcess(GuestProcessOptions options) : options_(completed(std::move(options))) {}

double GuestProcess::now_s() const { return static_cast<double>(clock_.monotonic_ns()) * 1e-9; }

void GuestProcess::ready_thread() const {
  if (has_host()) guest::tell(options_.client.say, run_when_idle());
}

Result<std::unique_ptr<probe::Probe>> GuestProcess::open_probe(const std::string& spec) const {
  COMMENSAL_ASSIGN(auto probe, probe::open(spec, {clock_}));
  const probe::Device device = probe->traits().device;
  return probe::with_monitor(std::move(probe), probe::monitor_of(device));
}

Result<void> GuestProcess::join() {
  if (options_.memory_bytes_max > 0) COMMENSAL_TRY(limit_memory(options_));
  if (!has_host()) return {};
  GuestClientOptions client = options_.client;
  const auto choose = [this](const std::string& spec) {
    return probe::choose(spec, {clock_}, options_.client.say);
  };
  if (client.host != "auto") COMMENSAL_TRY(probe::open(client.host, {clock_}));
  COMMENSAL_ASSIGN(auto lock, Lock::try_take(client.folder));
  if (lock) {  // what is wrong with the host is said at once
    COMMENSAL_ASSIGN(client.host, choose(client.host));
  }
  // The governor must act at once whatever the machine is doing, so its threads come first.
  client_ = std::make_unique<GuestClient>(
      GuestClient::Dependencies{clock_, rng_, pacer_, choose,
                                [this](const std::string& spec) { return open_probe(spec); }},
      std::move(client), std::move(lock));
  is_held_ = true;
  shown_s_ = now_s();  // the first epoch is worth a line, or that there is none
  if (options_.is_whole) step_back(options_.client.say);
  return {};
}

void GuestProcess::tell(const Work& work) {
  if (client_) client_->tell(facts_.add(now_s(), work));
}

GuestClientView GuestProcess::view() const { return client_ ? client_->view() : GuestClientView{}; }

std::function<std::string()> GuestProcess::why_paused() const {
  return [this, standstill = std::make_shared<Standstill>()]() -> std::string {
    if (!is_held_) return "";
    return standstill->why(pacer_.level(), client_->view().view, now_s());
  };
}

void GuestProcess::release() {
  is_held_ = false;
  pacer_.stop();
}

std::optional<std::string> GuestProcess::news(double every_s) {
  if (!client_) return std::nullopt;
  const GuestClientView now = client_->view();
  const bool is_stopped = !now.has_joined || (now.view && is_off(now.view->governor.phase));
  if (is_stopped == was_stopped_ && now_s() - shown_s_ < every_s) return std::nullopt;
  was_stopped_ = is_stopped;
  shown_s_ = now_s();
  if (now.view) return line_of(*now.view);
  if (!now.has_joined) return "guest stands still: it hears from no governor";
  return fmt::format("guest at {:.1f} % of full speed, by the machine's governor", 100 * now.level);
}

std::string line_of(const View& now) {
  const governor::Status& status = now.governor;
  const auto rate_of = [&now](double rate) {
    return rate > 0 ? fmt::format("{:.6g} {}/s", rate, now.unit) : std::string("no rate");
  };
  const std::string lost =
      status.hour_s > 0 ? fmt::format("lost {:.2f} % (at most {:.2f} %, over {:.0f} s)",
                                      100 * status.loss, 100 * status.loss_high, status.hour_s)
                        : std::string("what it loses is not known yet");
  const std::string why = now.signal.empty() ? std::string(status.why) : now.signal;
  const bool is_hosts = status.phase == governor::Phase::kAlone;
  return fmt::format("host {}, alone {}; {}; {}{}, budget {:.1f} %{}{}", rate_of(status.rate),
                     status.reference > 0 ? rate_of(status.reference) : "not measured yet", lost,
                     is_hosts ? "" : "guest ", governor::name_of(status.phase), 100 * status.budget,
                     why.empty() ? "" : ": ", why);
}

}  // namespace commensal::guest
