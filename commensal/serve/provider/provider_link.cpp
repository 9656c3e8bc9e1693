// SPDX-License-Identifier: Apache-2.0
// How a provider meets its gateway, and what both say of money, of the host and of the link itself.
#include <commensal/serve/provider/provider_state.hpp>

namespace commensal::provider {
namespace {

constexpr std::int64_t kLookMs = 1'000;  // for a gateway that does not draw our tickets
constexpr std::int64_t kWatchHostMs = 100;
constexpr std::string_view kVersion = "0.1.0";

}  // namespace

void Provider::State::connect(Provider& self) {
  ++link_generation;
  chains.on_connect();
  for (const auto& [id, task] : under_way) task->is_withdrawn = true;
  under_way.clear();
  ready.clear();
  committed.clear();
  status.link = LinkState::kConnecting;
  world.gateway.attach(self.shared_from_this());
}

void Provider::State::handle(Provider& self, rpc::Challenge message) {
  rpc::Hello hello;
  hello.name = config.name;
  hello.version = kVersion;
  hello.address = address;
  hello.signature = crypto::sign(world.key, rpc::hello_digest(message.nonce, address));
  hello.cached_models = cache.models();
  hello.threads = config.threads;
  auto chain = purse.meet(message.chain);
  if (!chain) {
    stopped = true;
    status.link = LinkState::kDismissed;
    status.link_message = std::move(chain.error().message);
    return;
  }
  hello.chain = *std::move(chain);
  hello.paused = host.begin();
  world.gateway.send(std::move(hello));
  if (world.why_paused) watch_host(self);
}

void Provider::State::watch_host(Provider& self) {
  world.loop.after(kWatchHostMs, [weak = self.weak_from_this(), generation = link_generation] {
    const auto still = weak.lock();
    if (!still || still->state_->stopped || still->state_->link_generation != generation) return;
    still->state_->host.look();
    still->state_->watch_host(*still);
  });
}

void Provider::State::handle(Provider&, rpc::Reveal message) {
  // A gateway whose reveals do not fit draws as it likes: no work for it.
  if (const auto drawn = purse.on_reveal(message); !drawn) {
    stopped = true;
    status.link = LinkState::kDismissed;
    status.link_message = drawn.error().message;
  }
}

void Provider::State::handle(Provider&, rpc::ChainStart message) {
  if (status.link != LinkState::kDismissed) return chains.handle(std::move(message));
  world.gateway.send(rpc::ChainRefuse{protocol::job_id(message.job),
                                      {core::ErrorCode::kUnavailable, status.link_message}});
}

void Provider::State::handle(Provider&, rpc::Outcomes message) {
  if (const auto done = purse.on_outcomes(message); !done) {
    status.link_message = done.error().message;
  }
}

void Provider::State::look(Provider& self) {
  world.loop.after(kLookMs, [weak = self.weak_from_this(), generation = link_generation] {
    const auto still = weak.lock();
    if (!still || still->state_->stopped || still->state_->link_generation != generation) return;
    still->state_->purse.look();
    still->state_->look(*still);
  });
}

void Provider::State::handle(Provider& self, rpc::Welcome message) {
  session_token = std::move(message.session_token);
  reconnect_ms = kReconnectMsMin;
  status.link = LinkState::kConnected;
  status.link_message.clear();
  purse.resume();
  look(self);
}

void Provider::State::handle(Provider&, rpc::Dismiss message) {
  stopped = true;
  status.link = LinkState::kDismissed;
  status.link_message = std::move(message.reason.message);
}

}  // namespace commensal::provider
