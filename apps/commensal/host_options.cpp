// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <apps/commensal/host_options.hpp>
#include <apps/commensal/log.hpp>
#include <apps/commensal/service.hpp>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/guest/cgroup.hpp>
#include <commensal/collocation/guest/scheduling.hpp>
#include <commensal/collocation/probe/discover.hpp>
#include <commensal/collocation/probe/throttle.hpp>
#include <cstdio>
#include <thread>

namespace commensal::apps {
namespace {

using core::Result;

void tell(const Result<void>& done) {
  if (!done) fmt::print(stderr, "{}\n", done.error().message);
}

/// Engines are loaded, and run, by the provider's worker; an engine's threads are its children.
class IdleEngines final : public provider::EngineFactory {
 public:
  explicit IdleEngines(graph::SessionOptions options) : engines_(std::move(options)) {}
  Result<std::unique_ptr<rollout::Engine>> load(const core::Path& model_file,
                                                const std::vector<protocol::Feed>& feeds) override {
    tell(guest::run_when_idle());
    return engines_.load(model_file, feeds);
  }

 private:
  provider::SessionEngineFactory engines_;
};

/// What the system does not grant is said, not fatal: the governor sees what it costs.
void step_back() {
  tell(guest::die_first());
  const auto session = guest::step_back_as_session();
  if (!session && session.error().code != core::ErrorCode::kFailedPrecondition) tell(session);
}

double processors() {
  return static_cast<double>(std::max(1U, std::thread::hardware_concurrency()));
}

/// In a control group where there are any, else by the limit of the process itself.
Result<void> limit_memory(const HostOptions& options) {
  const auto bytes = static_cast<std::int64_t>(options.memory_bytes_max);
  const guest::ControlGroupLimits share{.weight = static_cast<std::int64_t>(options.weight),
                                        .memory_bytes_max = bytes};
  const auto group = guest::ControlGroup::enter("/sys/fs/cgroup", ::getpid(), share);
  if (group && group->limits_memory()) {
    for (const std::string& missing : group->missing()) fmt::print(stderr, "{}\n", missing);
    return {};
  }
  if (!group && group.error().code == core::ErrorCode::kInvalidArgument) {
    return tl::unexpected(group.error());
  }
  return guest::limit_own_memory(bytes);
}

bool is_off(governor::Phase phase) {
  return phase == governor::Phase::kWaiting || phase == governor::Phase::kBackOff;
}

}  // namespace

std::string host_line(const guest::View& now) {
  const governor::Status& status = now.governor;
  const auto rate_of = [&now](double rate) {
    return rate > 0 ? fmt::format("{:.6g} {}/s", rate, now.unit) : std::string("no rate");
  };
  const std::string lost =
      status.over_s > 0 ? fmt::format("lost {:.2f} % (at most {:.2f} %, over {:.0f} s)",
                                      100 * status.loss, 100 * status.loss_high, status.over_s)
                        : std::string("what it loses is not known yet");
  const std::string why = now.signal.empty() ? std::string(status.why) : now.signal;
  return fmt::format("host {}, alone {}; {}; guest {}, budget {:.1f} %{}{}", rate_of(status.rate),
                     status.reference > 0 ? rate_of(status.reference) : "not measured yet", lost,
                     governor::name_of(status.phase), 100 * status.budget, why.empty() ? "" : ": ",
                     why);
}

Result<std::string> choose_host(const std::string& spec, const probe::Dependencies& deps) {
  if (spec != "auto") return spec;
  const probe::Discovery made = probe::discover(deps);
  for (const std::string& hint : made.hints) fmt::print(stderr, "{}\n", hint);
  for (const probe::Found& one : made.found) fmt::print(stderr, "{}: {}\n", one.spec, one.reason);
  if (made.found.empty()) {
    return core::fail(core::ErrorCode::kNotFound,
                      "no host found on this machine: name one, such as "
                      "xmrig:http://127.0.0.1:4067 or process:PID");
  }
  return made.found.front().spec;
}

void HostOptions::declare(CLI::App& app) {
  app.add_option("--host", spec,
                 "What runs here and must not be disturbed: a probe such as "
                 "xmrig:http://127.0.0.1:4067 or process:PID, or auto (commensal probe --help)");
  app.add_option("--weight", weight, "Share of what the host leaves, beside this machine's guests")
      ->check(CLI::Range(1.0, guest::kWeightMax))
      ->capture_default_str();
  app.add_option("--guest-memory-max", memory_bytes_max,
                 "Memory that this guest may have, such as 4GiB; beyond it, it is ended")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  app.add_option("--host-income-per-hour", income_per_hour,
                 "What the host earns, shown beside what guests earn; in the ledger's unit")
      ->check(CLI::NonNegativeNumber);
}

Result<std::unique_ptr<HostKeeping>> HostOptions::start(const std::string& name,
                                                        int threads) const {
  if (memory_bytes_max > 0) COMMENSAL_TRY(limit_memory(*this));
  if (spec.empty()) return nullptr;
  std::unique_ptr<HostKeeping> made(new HostKeeping);
  const core::Clock& clock = made->clock_;
  guest::GuestClientOptions options{
      .folder = runtime_folder(),
      .host = spec,
      .guest = {::getpid(), name.substr(0, limits::kGuestNameBytesMax), weight, threads},
      .processors = processors(),
      .host_income_per_hour = income_per_hour,
      .say = [](const std::string& line) { say(line); }};
  if (spec != "auto") COMMENSAL_TRY(probe::open(spec, {clock}));
  COMMENSAL_ASSIGN(auto lock, guest::Lock::try_take(options.folder));
  if (lock) {  // what is wrong with the host is said at once
    COMMENSAL_ASSIGN(options.host, choose_host(spec, {clock}));
  }
  const probe::Dependencies deps{clock};
  const auto choose = [deps](const std::string& one) { return choose_host(one, deps); };
  const auto open = [deps](const std::string& one) -> Result<std::unique_ptr<probe::Probe>> {
    COMMENSAL_ASSIGN(auto probe, probe::open(one, deps));
    const probe::Device device = probe->traits().device;
    return probe::with_monitor(std::move(probe), probe::monitor_of(device));
  };
  // The governor must act at once whatever the machine is doing, so its threads come first.
  made->client_ = std::make_unique<guest::GuestClient>(
      guest::GuestClient::Dependencies{clock, made->rng_, made->pacer_, choose, open},
      std::move(options), std::move(lock));
  step_back();
  return made;
}

std::unique_ptr<provider::EngineFactory> HostKeeping::engines(graph::SessionOptions options) {
  options.pacer = &pacer_;
  return std::make_unique<IdleEngines>(std::move(options));
}

std::string HostKeeping::why_paused() {
  const double now_s = static_cast<double>(clock_.monotonic_ns()) * 1e-9;
  std::optional<governor::Status> status;  // where the governor is in this process
  if (const auto view = client_->view().view) status = view->governor;
  return standstill_.why(pacer_.level(), status, now_s);
}

void HostKeeping::release() { pacer_.stop(); }

void HostKeeping::show(double every_s) {
  const double now_s = static_cast<double>(clock_.monotonic_ns()) * 1e-9;
  const guest::GuestClientView client = client_->view();
  const bool is_stopped =
      !client.has_joined || (client.view && is_off(client.view->governor.phase));
  if (is_stopped == was_stopped_ && now_s - shown_s_ < every_s) return;
  was_stopped_ = is_stopped;
  shown_s_ = now_s;
  if (client.view) {
    say(host_line(*client.view));
  } else if (client.has_joined) {
    say(fmt::format("guest at {:.1f} % of full speed, by the machine's governor",
                    100 * client.level));
  } else {
    say("guest stands still: it hears from no governor");
  }
}

}  // namespace commensal::apps
