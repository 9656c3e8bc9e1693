// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <commensal/base/core/limits_relay.hpp>
#include <commensal/serve/daemon/standby.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <limits>

namespace commensal::daemon {
namespace {

constexpr std::string_view kNone = "-";
constexpr std::int64_t kOurs = std::numeric_limits<std::int64_t>::max();  // no writer's token

core::Result<core::Listener> listen(const std::string& address, const char* whom) {
  const auto where = core::Endpoint::parse(address);
  if (!where) {
    return core::fail(core::ErrorCode::kInvalidArgument, "'{}', expected IP:PORT", address);
  }
  auto made = core::listen_on(*where);
  if (made) return made;
  return core::fail(core::ErrorCode::kUnavailable, "cannot listen for {} on '{}': {}", whom,
                    address, made.error().message);
}

std::string machine_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// The same sockets once more.
core::Result<std::vector<core::Listener>> shared(const GatewayListeners& listeners) {
  std::vector<core::Listener> all(3);
  const auto& [http, grpc, providers] = listeners;
  for (std::size_t i = 0; const core::Listener* port : {&http, &grpc, &providers}) {
    core::Listener& one = all[i++];
    if (!port->socket.valid()) continue;
    COMMENSAL_ASSIGN(one, core::share(*port));
  }
  return all;
}

/// As addresses() has it.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    parts.emplace_back(text.substr(0, end) == kNone ? "" : text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

core::Result<std::unique_ptr<Standby>> Standby::open(const GatewayDaemonConfig& config,
                                                     const std::string& host) {
  std::unique_ptr<Standby> made(new Standby);
  auto& [http, grpc, providers] = made->listeners_;
  const core::Endpoint where{config.http_address, config.http_port};
  COMMENSAL_ASSIGN(http, listen(where.text(), "consumers"));
  if (!config.grpc_address.empty()) {
    COMMENSAL_ASSIGN(grpc, listen(config.grpc_address, "consumers (gRPC)"));
  }
  COMMENSAL_ASSIGN(providers, listen(config.provider_address, "providers"));
  made->hosts_ = {config.http_address, core::host_of(config.grpc_address),
                  core::host_of(config.provider_address)};
  std::vector<std::string> parts;
  for (const core::Listener* port : {&http, &grpc, &providers}) {
    std::string own = made->hosts_[parts.size()];
    if (own.empty() || own == "0.0.0.0" || own == "::") own = machine_name();
    if (own == "localhost") own = "127.0.0.1";
    const core::Endpoint reached{host.empty() ? own : host, port->port};
    parts.push_back(port->socket.valid() ? reached.text() : std::string(kNone));
  }
  made->addresses_ = fmt::format("{}", fmt::join(parts, " "));
  return made;
}

core::Result<std::shared_ptr<const GatewayListeners>> Standby::listeners(
    const store::PostgresStore& store) const {
  COMMENSAL_ASSIGN(auto all, shared(listeners_));
  for (core::Listener& port : all) {
    port.relays = {.current = store.secret(),
                   .former = store.former_secret(),
                   .former_until_ms = clock_.wall_ms() + limits::kRelayFormerSecretMs};
  }
  return std::make_shared<const GatewayListeners>(GatewayListeners{
      .http = std::move(all[0]), .grpc = std::move(all[1]), .providers = std::move(all[2])});
}

core::Result<void> Standby::pass_on() {
  if (relay_) return {};
  COMMENSAL_ASSIGN(const auto ports, shared(listeners_));
  COMMENSAL_ASSIGN(relay_, relay::Relay::start(ports, clock_));
  return {};
}

void Standby::point_at(const store::Writer& writer) {
  if (!relay_) return;
  relay::Target target{writer.token, parts_of(writer.addresses), writer.secret};
  target.addresses.resize(hosts_.size());
  const std::vector<std::string> own = parts_of(addresses_);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    std::string& there = target.addresses[i];
    const bool is_hidden = tls::is_loopback(core::host_of(there)) && !tls::is_loopback(hosts_[i]);
    // What it has published itself, before it was started anew, leads nowhere.
    if (is_hidden || there == own[i]) there.clear();
  }
  relay_->point_at(std::move(target));
}

void Standby::take_over(const std::string& secret) {
  listeners_ = {};
  if (!relay_) return;
  relay_->leave_ports();
  relay_->point_at({kOurs, parts_of(addresses_), secret});
}

bool Standby::drain(std::int64_t ms) {
  listeners_ = {};
  if (!relay_) return true;
  relay_->leave_ports();
  return relay_->drain({ms, ms, std::min(ms, limits::kDrainStreamsMs)});
}

}  // namespace commensal::daemon
