// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/host_options.hpp>
#include <commensal/collocation/actuator/scheduling.hpp>
#include <commensal/collocation/probe/discover.hpp>
#include <cstdio>

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
  Result<std::unique_ptr<provider::Engine>> load(const core::Path& model_file) override {
    tell(actuator::run_when_idle());
    return engines_.load(model_file);
  }
  Result<std::unique_ptr<chain::Engine>> load_chain(
      const core::Path& model_file, const std::vector<protocol::Feed>& feeds) override {
    tell(actuator::run_when_idle());
    return engines_.load_chain(model_file, feeds);
  }

 private:
  provider::SessionEngineFactory engines_;
};

/// What the system does not grant is said, not fatal: the governor sees what it costs.
void step_back() {
  tell(actuator::die_first());
  const auto session = actuator::step_back_as_session();
  if (!session && session.error().code != core::ErrorCode::kFailedPrecondition) tell(session);
}

}  // namespace

Result<std::string> choose_host(const std::string& spec, const probe::World& world) {
  if (spec != "auto") return spec;
  const probe::Discovery made = probe::discover(world);
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
}

Result<std::unique_ptr<HostKeeping>> HostOptions::start() const {
  if (spec.empty()) return nullptr;
  std::unique_ptr<HostKeeping> made(new HostKeeping);
  const probe::World world{made->clock_};
  COMMENSAL_ASSIGN(const std::string text, choose_host(spec, world));
  COMMENSAL_ASSIGN(made->probe_, probe::open(text, world));
  // The keeper must act at once whatever the machine is doing, so its threads come first.
  made->threads_ = std::make_unique<keeper::KeeperThreads>(keeper::Keeper::World{
      made->clock_, made->rng_, *made->probe_, made->pacer_});
  step_back();
  return made;
}

std::unique_ptr<provider::EngineFactory> HostKeeping::engines(graph::SessionOptions options) {
  options.pacer = &pacer_;
  return std::make_unique<IdleEngines>(std::move(options));
}

void HostKeeping::release() {
  threads_.reset();
  pacer_.stop();
}

void HostKeeping::show(double every_s) {
  const double now_s = static_cast<double>(clock_.monotonic_ns()) * 1e-9;
  const keeper::View now = view();
  const governor::Status& status = now.governor;
  const bool is_stopped = status.phase == governor::Phase::kWaiting ||
                          status.phase == governor::Phase::kBackOff;
  if (is_stopped == was_stopped_ && now_s - shown_s_ < every_s) return;
  was_stopped_ = is_stopped;
  shown_s_ = now_s;
  fmt::print(stderr,
             "host {:.6g} {}/s, alone {:.6g}; lost {:.2f} % (at most {:.2f} %, over {:.0f} s); "
             "guest {}, budget {:.1f} %{}{}\n",
             status.rate, now.unit, status.reference, 100 * status.loss, 100 * status.loss_high,
             status.window_s, governor::name_of(status.phase), 100 * status.budget,
             status.why.empty() ? "" : ": ",
             now.signal.empty() ? std::string(status.why) : now.signal);
}

}  // namespace commensal::apps
