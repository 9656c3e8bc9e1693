// SPDX-License-Identifier: Apache-2.0
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/core/places.hpp>
#include <commensal/serve/http/connection.hpp>
#include <commensal/serve/http/server.hpp>
#include <condition_variable>
#include <deque>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

namespace commensal::http {

namespace {

using asio::ip::tcp;

// After an accept() that failed, for want of descriptors say, this long nothing is accepted.
constexpr std::chrono::milliseconds kAcceptPause(100);
constexpr std::chrono::milliseconds kMoment(2);  // that one who leaves takes

/// Of what waits for disks or imports models: an account has one at a time, so that a second one's
/// goes on beside that of who is slow. More would only have more models in memory.
constexpr std::size_t kSlowThreads = 2;

/// What is large is to leave a processor to what is small: on two of them one thread for large
/// bodies instead of two took a fifth to a half off the p99 of small requests beside large ones.
std::size_t heavy_threads() {
  const std::size_t half = std::thread::hardware_concurrency() / 2;
  return std::clamp<std::size_t>(half, 1, limits::kHttpHeavyThreads);
}

/// Threads that accounts have in turns.
struct Pool {
  asio::thread_pool threads;
  std::shared_ptr<oip::Turns> turns;

  Pool(std::size_t count, const core::Clock& clock)
      : threads(count),
        turns(std::make_shared<oip::Turns>(
            [this](Task task) { asio::post(threads, std::move(task)); }, clock, count)) {}
  /// What waits its turn is dropped: nobody was told of it.
  void stop() {
    threads.stop();
    threads.join();
  }
};

std::function<void(Task)> through(const std::shared_ptr<Gate>& gate) {
  return [gate](Task task) {
    const std::lock_guard lock(gate->mutex);
    if (gate->io != nullptr) asio::post(*gate->io, std::move(task));
  };
}

/// Where it listens, and what holds for all who come there.
struct Port {
  tcp::acceptor acceptor;
  asio::steady_timer pause{acceptor.get_executor()};
  Shared shared;
  std::uint16_t number = 0;

  Port(asio::io_context& io, const Services& services, const std::shared_ptr<Gate>& gate,
       Handshakes& handshakes, bool is_for_metrics)
      : acceptor(asio::make_strand(io)),
        shared{.services = services,
               .clock = services.clock,
               .gate = gate,
               .identity = {},
               .is_for_metrics = is_for_metrics,
               .handshakes = handshakes} {}
  core::Result<void> listen(const std::string& address, std::uint16_t port);
  core::Result<void> listen(const core::Listener& listening);
};

}  // namespace

struct HttpServer::State {
  asio::io_context io;
  Pool staging, pieces, heavy;
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  Handshakes handshakes;
  oip::Serving serving;
  Services services;
  std::deque<Port> ports;  // the consumers', and perhaps that of the metrics
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::vector<std::thread> threads;

  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::shared_ptr<Connection>> connections;  // guarded by mutex

  State(gateway::Gateway& gateway, core::Loop& loop, const core::Clock& clock, core::Rng& rng,
        const oip::Options& options)
      : staging(kSlowThreads, clock),
        pieces(kSlowThreads, clock),
        heavy(heavy_threads(), clock),
        handshakes(io, clock),
        serving{.observer = {clock, rng, options.observe}, .options = options},
        services{.gateway = gateway,
                 .loop = loop,
                 .clock = clock,
                 .turns = std::make_shared<oip::Turns>(
                     [&loop](Task task) { loop.post(std::move(task)); }, clock),
                 .codec = through(gate),
                 .staging = staging.turns,
                 .pieces = pieces.turns,
                 .heavy = heavy.turns,
                 .lists = std::make_shared<oip::Turns>(through(gate), clock),
                 .serving = serving} {
    gate->io = &io;
  }

  core::Result<void> listen(const MetricsPort& where, bool is_for_metrics,
                            const core::Listener* listening);
  void run(int thread_count);
  void accept(Port& port);
  void on_accept(Port& port, beast::error_code error, tcp::socket socket);
  /// Whether none is left in time.
  bool drain(std::int64_t grace_ms);
  void stop(std::int64_t grace_ms);
  void stop_connections(bool at_once);
  /// For one more. Under `mutex`.
  bool make_room(std::size_t most);
  /// Whether none was left in time.
  bool wait_until_gone(std::int64_t wait_ms);
};

core::Result<void> Port::listen(const std::string& address, std::uint16_t port) {
  beast::error_code error;
  const asio::ip::address ip = asio::ip::make_address(address, error);
  if (error)
    return core::fail(core::ErrorCode::kInvalidArgument, "'{}' is no IP address to listen on",
                      address);
  const tcp::endpoint endpoint(ip, port);
  const auto step = [&](auto action) {
    if (!error) action();
  };
  step([&] { acceptor.open(endpoint.protocol(), error); });
  step([&] { acceptor.set_option(tcp::acceptor::reuse_address(true), error); });
  step([&] { acceptor.bind(endpoint, error); });
  step([&] { acceptor.listen(limits::kConnectionsMax, error); });
  step([&] { number = acceptor.local_endpoint(error).port(); });
  if (error)
    return core::fail(
        core::ErrorCode::kUnavailable, "cannot listen for {} on '{}': {}",
        shared.is_for_metrics ? "readers of metrics" : "consumers",
        core::Endpoint{address, port}.text(),
        error == asio::error::address_in_use ? "the port is in use" : error.message());
  return {};
}

core::Result<void> Port::listen(const core::Listener& listening) {
  COMMENSAL_ASSIGN(core::Listener own, core::share(listening));
  beast::error_code error;
  acceptor.assign(tcp::v4(), own.socket.get(), error);  // a family for what it opens: nothing
  if (error) return core::fail(core::ErrorCode::kUnavailable, "{}", error.message());
  number = own.port;
  shared.relays = own.relays;
  std::ignore = own.socket.release();
  return {};
}

core::Result<void> HttpServer::State::listen(const MetricsPort& where, bool is_for_metrics,
                                             const core::Listener* listening) {
  Port& port = ports.emplace_back(io, services, gate, handshakes, is_for_metrics);
  port.shared.identity = where.identity;
  return listening == nullptr ? port.listen(where.address, where.port) : port.listen(*listening);
}

void HttpServer::State::run(int thread_count) {
  work.emplace(io.get_executor());
  for (int i = 0; i < thread_count; ++i) threads.emplace_back([this] { io.run(); });
  for (Port& port : ports)
    asio::post(port.acceptor.get_executor(), [this, &port] { accept(port); });
}

void HttpServer::State::accept(Port& port) {
  port.acceptor.async_accept(asio::make_strand(io),
                             [this, &port](beast::error_code error, tcp::socket socket) {
                               on_accept(port, error, std::move(socket));
                             });
}

void HttpServer::State::on_accept(Port& port, beast::error_code error, tcp::socket socket) {
  if (port.shared.stopping || error == asio::error::operation_aborted) return;
  if (error) {
    bool is_made = false;
    if (error == asio::error::no_descriptors) {
      const std::lock_guard lock(mutex);
      is_made = make_room(0);
    }
    port.pause.expires_after(is_made ? kMoment : kAcceptPause);
    port.pause.async_wait([this, &port](beast::error_code cancelled) {
      if (!cancelled) accept(port);
    });
    return;
  }
  const std::unique_lock lock(mutex);
  // Beyond the limit one makes room (places.hpp). Where all are at work the new one is closed.
  if (connections.size() < limits::kConnectionsMax || make_room(limits::kConnectionsMax)) {
    const auto connection = std::make_shared<Connection>(
        std::move(socket), port.shared, [this](const std::shared_ptr<Connection>& closed) {
          const std::lock_guard guard(mutex);
          connections.erase(closed);
          changed.notify_all();
        });
    connections.insert(connection);
    connection->start();
  }
  accept(port);
}

bool HttpServer::State::make_room(std::size_t most) {
  // Those that were told to leave may take a moment to.
  if (connections.size() >= 2 * limits::kConnectionsMax) return false;
  std::vector<core::Place> places;
  std::vector<Connection*> theirs;
  for (const auto& one : connections) {
    auto place = one->place();
    if (!place) continue;
    places.push_back(*std::move(place));
    theirs.push_back(one.get());
  }
  if (places.size() < most) return true;
  const auto leaves = who_leaves(places);
  if (!leaves) return false;
  theirs[*leaves]->make_room();
  return true;
}

void HttpServer::State::stop_connections(bool at_once) {
  const std::lock_guard lock(mutex);
  for (const auto& connection : connections) connection->stop(at_once);
}

bool HttpServer::State::wait_until_gone(std::int64_t wait_ms) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, std::chrono::milliseconds(wait_ms),
                          [this] { return connections.empty(); });
}

bool HttpServer::State::drain(std::int64_t grace_ms) {
  for (Port& port : ports) {
    port.shared.stopping = true;
    asio::post(port.acceptor.get_executor(), [&port] {
      beast::error_code ignored;
      port.acceptor.close(ignored);
      port.pause.cancel();
    });
  }
  stop_connections(false);
  return wait_until_gone(grace_ms);
}

void HttpServer::State::stop(std::int64_t grace_ms) {
  if (threads.empty()) return;
  if (!drain(grace_ms)) stop_connections(true);
  {
    const std::lock_guard lock(gate->mutex);
    gate->io = nullptr;
  }
  work.reset();
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  for (Pool* const pool : {&staging, &pieces, &heavy}) pool->stop();
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::~HttpServer() { stop(0); }
std::uint16_t HttpServer::port() const { return state_->ports.front().number; }
std::uint16_t HttpServer::metrics_port() const {
  return state_->ports.size() > 1 ? state_->ports.back().number : 0;
}
const oip::Services& HttpServer::services() const { return state_->services; }
void HttpServer::drain(std::int64_t grace_ms) { state_->drain(grace_ms); }
void HttpServer::stop(std::int64_t grace_ms) { state_->stop(grace_ms); }

core::Result<std::unique_ptr<HttpServer>> HttpServer::start(gateway::Gateway& gateway,
                                                            core::Loop& loop,
                                                            const core::Clock& clock,
                                                            core::Rng& rng,
                                                            const HttpOptions& options) {
  core::check(options.threads >= 1 && options.threads <= limits::kThreadsMax,
              "an HTTP server has at least one thread");
  auto state = std::make_unique<State>(gateway, loop, clock, rng, options.serving);
  COMMENSAL_TRY(
      state->listen({options.address, options.port, options.identity}, false, options.listening));
  state->ports.front().shared.page = options.page;
  if (options.metrics) COMMENSAL_TRY(state->listen(*options.metrics, true, nullptr));
  state->run(options.threads);
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

}  // namespace commensal::http
