// SPDX-License-Identifier: Apache-2.0
// How a provider meets its gateway, and what both say of money, of the host and of the stream
// itself; what they say of jobs goes to jobs.cpp.
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/serve/provider/defence.hpp>
#include <commensal/serve/provider/host_watch.hpp>
#include <commensal/serve/provider/jobs.hpp>
#include <commensal/serve/provider/known_gateways.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <commensal/serve/provider/releases.hpp>
#include <utility>

namespace commensal::provider {
namespace {

constexpr std::int64_t kReconnectMsMin = 100;
constexpr std::int64_t kLookMs = 1'000;  // for a gateway that does not draw our tickets
constexpr std::int64_t kWatchHostMs = 100;

/// What no gateway would ever have believed is somebody's mistake.
core::Result<void> check_statements(const std::vector<protocol::PrivacyStatement>& statements,
                                    const crypto::Address& own) {
  for (const protocol::PrivacyStatement& one : statements) {
    COMMENSAL_TRY(protocol::verify_statement(one));
    if (one.provider != own) {
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "the privacy statement of class '{}' is of provider {}, expected {}",
                        one.privacy_class, crypto::to_text(one.provider), crypto::to_text(own));
    }
  }
  return {};
}

/// Those that have not ended.
rpc::Statements shown_of(const std::vector<protocol::PrivacyStatement>& statements,
                         std::int64_t now_ms) {
  rpc::Statements shown;
  for (const protocol::PrivacyStatement& one : statements) {
    if (std::cmp_less(now_ms, one.valid_until_ms)) shown.items.push_back(one);
  }
  return shown;
}

}  // namespace

struct Provider::State {
  ProviderDependencies deps;
  ProviderConfig config;
  store::JointStore store;
  ModelCache cache;
  Holdings holdings;
  KnownGateways gateways;
  Purse purse;
  std::shared_ptr<Jobs> jobs;
  std::shared_ptr<Defence> defence;
  std::shared_ptr<Releases> releases;
  HostWatch host;
  crypto::Address address;

  std::uint64_t stream_generation = 0;  // a timer that was set for an earlier stream does nothing
  std::int64_t reconnect_ms = kReconnectMsMin;
  bool stopped = true;
  StreamState stream = StreamState::kConnecting;
  std::string stream_message;

  State(const ProviderDependencies& w, const ProviderConfig& c, ModelCache opened)
      : deps(w),
        config(c),
        store(w.store),
        cache(std::move(opened)),
        holdings(store, [this](const core::Digest& model) { return cache.has(model); }),
        gateways(store, core::endpoints_of(c.gateway).front(), c.gateway_key),
        purse({store, w.clock, w.rng, w.key, w.gateway}, c.purse),
        jobs(std::make_shared<Jobs>(
            Jobs::Dependencies{w.loop, w.clock, w.rng, store, w.key, w.gateway, w.engines, cache,
                               holdings, purse, w.closing, w.job_ended},
            Jobs::Config{c.tasks_at_once, c.commit_wait_ms_max, c.answer_bytes_max})),
        defence(std::make_shared<Defence>(
            Defence::Dependencies{w.loop, w.key, jobs->executor(), cache, purse, w.closing})),
        releases(std::make_shared<Releases>(Releases::Dependencies{
            w.loop, w.clock, store, holdings, cache, w.gateway, jobs->executor(),
            [this](const core::Digest& model) {
              return jobs->uses(model) || defence->needs(model);
            },
            [this] {
              if (stream == StreamState::kConnected) jobs->report_load();
            }})),
        host(w.why_paused, w.host_now, w.gateway),
        address(w.key.address()) {}

  void connect(Provider& self);
  void dismiss(std::string why);
  /// Calls `look` every so often while this stream is up.
  void repeat(Provider& self, std::int64_t every_ms, std::function<void(State&)> look);

  // One overload per message of the gateway.
  void handle(Provider&, const rpc::Release& message) { releases->handle(message); }
  void handle(Provider& self, const rpc::Challenge& message);
  void handle(Provider& self, rpc::Welcome message);
  void handle(Provider&, rpc::Dismiss message) { dismiss(std::move(message.reason.message)); }
  void handle(Provider&, rpc::Offer message) { jobs->handle(std::move(message)); }
  void handle(Provider&, const rpc::Begin& message) { jobs->handle(message); }
  void handle(Provider&, const rpc::Countersign& message) { jobs->handle(message); }
  void handle(Provider&, const rpc::Withdraw& message) { jobs->handle(message); }
  void handle(Provider&, const rpc::Reveal& message);
  void handle(Provider&, const rpc::Outcomes& message);
  void handle(Provider&, const rpc::Balance& message) { purse.on_balance(message); }
  void handle(Provider&, rpc::Accused message) { defence->handle(std::move(message)); }
  void handle(Provider&, rpc::CaseMoves message) { defence->handle(std::move(message)); }
  void handle(Provider&, const rpc::Prefetch& message) {
    if (host.paused().empty()) jobs->handle(message);
  }
};

void Provider::State::connect(Provider& self) {
  ++stream_generation;
  jobs->on_connect();
  defence->on_connect();
  releases->on_connect();
  stream = StreamState::kConnecting;
  deps.gateway.attach(self.shared_from_this());
}

void Provider::State::dismiss(std::string why) {
  stopped = true;
  stream = StreamState::kDismissed;
  jobs->close(why);
  stream_message = std::move(why);
}

void Provider::State::repeat(Provider& self, std::int64_t every_ms,
                             std::function<void(State&)> look) {
  deps.loop.after(every_ms, [weak = self.weak_from_this(), generation = stream_generation, every_ms,
                             look = std::move(look)]() mutable {
    const auto still = weak.lock();
    if (!still || still->state_->stopped || still->state_->stream_generation != generation) return;
    look(*still->state_);
    still->state_->repeat(*still, every_ms, std::move(look));
  });
}

void Provider::State::handle(Provider& self, const rpc::Challenge& message) {
  const rpc::Channel channel = deps.gateway.channel();
  if (auto met = gateways.meet(message, channel); !met) {
    return self.on_close(std::move(met.error()));  // it hears no hello; another may answer next
  }
  jobs->on_meet(message.gateway);
  releases->on_meet(message.gateway);
  rpc::Hello hello;
  hello.name = config.name;
  hello.version = rpc::kVersion;
  hello.address = address;
  hello.signature =
      crypto::sign(deps.key, rpc::hello_digest(message.nonce, address, message.gateway, channel));
  hello.cached_models = cache.models();
  hello.threads = config.threads;
  auto chain = purse.meet(message.hash_chain);
  if (!chain) return dismiss(std::move(chain.error().message));
  hello.hash_chain = *std::move(chain);
  hello.paused = host.begin();
  deps.gateway.send(std::move(hello));
  if (deps.why_paused) repeat(self, kWatchHostMs, [](State& state) { state.host.look(); });
}

void Provider::State::handle(Provider& self, rpc::Welcome message) {
  defence->on_welcome(message.session_token);
  jobs->on_welcome(std::move(message.session_token),
                   message.version && rpc::knows_prefetch(*message.version));
  if (message.version && rpc::knows_statements(*message.version))
    deps.gateway.send(shown_of(config.statements, deps.clock.wall_ms()));
  if (message.version && rpc::knows_host(*message.version) && host.begin_to_show()) {
    host.show();
    repeat(self, limits::kHostWordMs, [](State& state) { state.host.show(); });
  }
  reconnect_ms = kReconnectMsMin;
  stream = StreamState::kConnected;
  stream_message.clear();
  purse.resume();
  repeat(self, kLookMs, [](State& state) { state.purse.look(); });
}

void Provider::State::handle(Provider&, const rpc::Reveal& message) {
  // A gateway whose reveals do not fit draws as it likes: no work for it.
  if (auto drawn = purse.on_reveal(message); !drawn) dismiss(std::move(drawn.error().message));
}

void Provider::State::handle(Provider&, const rpc::Outcomes& message) {
  if (const auto done = purse.on_outcomes(message); !done) stream_message = done.error().message;
}

Provider::Provider(std::unique_ptr<State> state) : state_(std::move(state)) {}
Provider::~Provider() = default;

core::Result<std::shared_ptr<Provider>> Provider::create(const ProviderDependencies& deps,
                                                         const ProviderConfig& config) {
  COMMENSAL_TRY(check_statements(config.statements, deps.key.address()));
  COMMENSAL_ASSIGN(auto cache, ModelCache::open(config.folder / "models", config.cache_bytes_max));
  auto state = std::make_unique<State>(deps, config, std::move(cache));
  COMMENSAL_TRY(state->purse.open());
  COMMENSAL_TRY(state->holdings.open());
  return std::shared_ptr<Provider>(new Provider(std::move(state)));
}

void Provider::start() {
  state_->stopped = false;
  state_->releases->open();
  state_->connect(*this);
}

void Provider::stop() { state_->stopped = true; }

void Provider::retire() {
  state_->jobs->close("the provider is about to stop");
  if (state_->stream == StreamState::kConnected) {
    state_->deps.gateway.send(rpc::Pause{"it is about to stop"});
  }
}

std::size_t Provider::left() const { return state_->purse.undrawn(); }

ProviderStatus Provider::status() const {
  const Jobs::Counts& counts = state_->jobs->counts();
  return {.stream = state_->stream,
          .stream_message = state_->stream_message,
          .paused = state_->host.paused(),
          .queued = counts.at_work,
          .delivered = counts.delivered,
          .runs = state_->jobs->executor()->runs(),
          .refused = counts.refused,
          .refused_why = counts.refused_why,
          .new_gateway = state_->gateways.trusted_anew(),
          .fetch = state_->jobs->fetch(),
          .tickets = state_->purse.tickets().totals(),
          .balance = state_->purse.balance(),
          .unjudged = state_->purse.unjudged(),
          .accusations = state_->defence->pending(),
          .accusation = state_->defence->last()};
}
crypto::Address Provider::address() const { return state_->address; }

void Provider::on_message(rpc::ToProvider message) {
  std::visit([this](auto&& word) { state_->handle(*this, std::move(word)); }, std::move(message));
}

void Provider::on_close(core::Error reason) {
  if (state_->stream == StreamState::kDismissed) return;
  state_->stream = StreamState::kConnecting;
  state_->stream_message = std::move(reason.message);
  if (state_->stopped) return;
  const std::int64_t delay_ms = state_->reconnect_ms;
  state_->reconnect_ms = std::min(delay_ms * 2, state_->config.reconnect_ms_max);
  state_->deps.loop.after(delay_ms, [weak = weak_from_this(), of = state_->stream_generation] {
    const auto self = weak.lock();
    if (!self || self->state_->stopped || self->state_->stream_generation != of) return;
    self->state_->connect(*self);
  });
}

}  // namespace commensal::provider
