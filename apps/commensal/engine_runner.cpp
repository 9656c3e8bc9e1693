// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/engine_runner.hpp>
#include <apps/common/log.hpp>
#include <commensal/collocation/guest/scheduling.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>

namespace commensal::apps {
namespace {

/// Nobody measures what a start costs: it goes at a tenth, which a host bears that would lose a
/// third beside it (3 % of a minute).
constexpr double kStartLevel = 0.1;
constexpr std::int64_t kCpuMsMax = 120'000;  // of a request, or all of them together

}  // namespace

using core::Result;

Result<void> EngineRunner::load(const core::Path& model, const tuner::Way& way,
                                const graph::SessionOptions& session) {
  worker::ProcessOptions options{.session = session};
  options.session.threads = way.threads;
  options.processors.assign(way.processors.begin(), way.processors.end());
  options.ready_thread = [] {
    if (const auto done = guest::run_when_idle(); !done) say(done.error().message);
  };
  options.cpu_ms_max = kCpuMsMax;
  options.pace = pacer_.memory();
  options.is_held = [this] { return pacer_.level() <= 0; };
  factory_ = std::make_unique<worker::ProcessEngineFactory>(std::move(options));
  COMMENSAL_ASSIGN(engine_, factory_->load(model, {}));
  COMMENSAL_ASSIGN(auto inputs, lab::bench::draw_inputs(engine_->graph(), 1));
  requests_.assign(static_cast<std::size_t>(way.at_once), std::move(inputs));
  return {};
}

Result<void> EngineRunner::answer() {
  const auto answered = engine_->run_all(requests_, {.cancel = closing_.get_token()});
  for (const auto& one : answered) {
    if (!one) return tl::unexpected(one.error());
  }
  answers_ += answered.size();
  return {};
}

Result<std::unique_ptr<EngineRunner>> EngineRunner::start(const core::Path& model,
                                                          const tuner::Way& way,
                                                          const graph::SessionOptions& session) {
  std::unique_ptr<EngineRunner> made(new EngineRunner);
  made->pacer_.set_level(kStartLevel);
  COMMENSAL_TRY(made->load(model, way, session));
  COMMENSAL_TRY(made->answer());  // what is made on demand is made here
  const core::SystemClock clock;
  const std::int64_t begin_ns = clock.monotonic_ns();
  COMMENSAL_TRY(made->answer());
  made->request_s_ = kStartLevel * 1e-9 * static_cast<double>(clock.monotonic_ns() - begin_ns);
  made->let(false);
  EngineRunner& self = *made;
  made->thread_ = std::jthread([&self](const std::stop_token& stop) { self.run(stop); });
  return made;
}

void EngineRunner::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto done = answer();
    if (done) continue;
    const std::lock_guard lock(mutex_);
    state_ = done;
    return;
  }
}

Result<std::uint64_t> EngineRunner::answers() {
  const std::lock_guard lock(mutex_);
  if (!state_) return tl::unexpected(state_.error());
  return answers_;
}

EngineRunner::~EngineRunner() {
  closing_.request_stop();
  thread_.request_stop();
  pacer_.stop();
}

}  // namespace commensal::apps
