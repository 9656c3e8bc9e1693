// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <commensal/base/core/places.hpp>
#include <commensal/serve/relay/carried.hpp>
#include <commensal/serve/relay/relay.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

namespace commensal::relay {
namespace {

using asio::ip::tcp;
using Error = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause(100);  // where there are no files left
constexpr std::int64_t kDrainLookMs = 50;
constexpr std::uint64_t kFilesOfOne = 8;  // two of each of three ports, and some for the rest

std::size_t share_of_files(std::size_t wanted) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
  return std::min<std::size_t>(wanted, std::max<std::size_t>(files.rlim_cur / kFilesOfOne, 1));
}

void turn_away(tcp::socket& socket) {
  Error ignored;
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

struct Port {
  std::size_t number = 0;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  rpc::Newcomers newcomers = {};
  std::map<const Carried*, std::shared_ptr<Carried>> connections = {};
};

}  // namespace

struct Relay::State {
  const core::Clock& clock;
  const RelayOptions options;
  const std::size_t connections_max;
  asio::io_context io{1};
  std::deque<Port> ports;
  Target target;            // the thread's
  bool is_leaving = false;  // likewise

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::size_t count = 0;  // guarded by mutex

  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  std::jthread thread;  // last: it sees the others

  State(const core::Clock& c, const RelayOptions& o)
      : clock{c}, options{o}, connections_max(share_of_files(o.connections_max)) {}
  ~State() { io.stop(); }

  void accept(Port& port);
  void on_accept(Port& port, Error error, tcp::socket socket);
  bool admit(Port& port, const std::string& network);
  bool make_room(Port& port);
  Way way_of(const Port& port) const;
  std::vector<std::shared_ptr<Carried>> all() const;
  /// `passed_ms` after they were told to end.
  void end_some(const std::vector<std::int64_t>& ms, std::int64_t passed_ms);
};

void Relay::State::accept(Port& port) {
  port.acceptor.async_accept([this, &port](Error error, tcp::socket socket) {
    on_accept(port, error, std::move(socket));
  });
}

void Relay::State::on_accept(Port& port, Error error, tcp::socket socket) {
  if (is_leaving || error == asio::error::operation_aborted) return;
  if (error) {
    port.pause.expires_after(kAcceptPause);
    port.pause.async_wait([this, &port](Error cancelled) {
      if (!cancelled) accept(port);
    });
    return;
  }
  const auto from = socket.remote_endpoint(error);
  std::string network = error ? "" : core::network_of(from.data());
  if (error || !admit(port, network)) {
    turn_away(socket);
    return accept(port);
  }
  const auto carried = std::make_shared<Carried>(
      std::move(socket), std::move(network), clock,
      Carried::Bounds{options.wait_ms, options.idle_ms}, [this, &port] { return way_of(port); },
      [this, &port](const Carried* ended) {
        port.connections.erase(ended);
        const std::lock_guard lock(mutex);
        --count;
        changed.notify_all();
      });
  port.connections.emplace(carried.get(), carried);
  {
    const std::lock_guard lock(mutex);
    ++count;
  }
  carried->start();
  accept(port);
}

bool Relay::State::admit(Port& port, const std::string& network) {
  return port.newcomers.admit(network, clock.monotonic_ns()) &&
         (port.connections.size() < connections_max || make_room(port));
}

bool Relay::State::make_room(Port& port) {
  std::vector<core::Place> places;
  std::vector<std::shared_ptr<Carried>> whose;
  for (const auto& [key, one] : port.connections) {
    places.push_back({.party = one->network(), .since_ns = one->since_ns()});
    whose.push_back(one);
  }
  const auto leaves = core::who_leaves(places);
  if (leaves) whose[*leaves]->close();
  return leaves.has_value();
}

Way Relay::State::way_of(const Port& port) const {
  if (port.number >= target.addresses.size()) return {};
  return {target.token, target.addresses[port.number], target.secret};
}

std::vector<std::shared_ptr<Carried>> Relay::State::all() const {
  std::vector<std::shared_ptr<Carried>> found;
  for (const Port& port : ports) {
    for (const auto& [key, one] : port.connections) found.push_back(one);
  }
  return found;
}

void Relay::State::end_some(const std::vector<std::int64_t>& ms, std::int64_t passed_ms) {
  for (const Port& port : ports) {
    const std::int64_t late_ms = passed_ms - (port.number < ms.size() ? ms[port.number] : 0);
    const auto ends = [&](Carried& one) {
      return one.is_over() || late_ms >= limits::kRelayLastMs || (late_ms >= 0 && one.is_quiet());
    };
    std::vector<std::shared_ptr<Carried>> ending;
    for (const auto& [key, one] : port.connections) {
      if (ends(*one)) ending.push_back(one);
    }
    for (const auto& one : ending) one->close();
  }
}

Relay::Relay(std::unique_ptr<State> state) : state_(std::move(state)) {}
Relay::~Relay() = default;

core::Result<std::unique_ptr<Relay>> Relay::start(const std::vector<core::Listener>& listeners,
                                                  const core::Clock& clock,
                                                  const RelayOptions& options) {
  auto state = std::make_unique<State>(clock, options);
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    if (!listeners[i].socket.valid()) continue;
    COMMENSAL_ASSIGN(core::Listener own, core::share(listeners[i]));
    Port& port =
        state->ports.emplace_back(Port{i, tcp::acceptor(state->io), asio::steady_timer(state->io)});
    Error error;
    // The family is for sockets that it would open itself.
    port.acceptor.assign(tcp::v4(), own.socket.get(), error);
    if (error) return core::fail(core::ErrorCode::kUnavailable, "{}", error.message());
    std::ignore = own.socket.release();
    state->accept(port);
  }
  state->thread = std::jthread([state = state.get()] { state->io.run(); });
  return std::unique_ptr<Relay>(new Relay(std::move(state)));
}

void Relay::point_at(Target target) {
  asio::post(state_->io, [state = state_.get(), target = std::move(target)]() mutable {
    if (state->target.token == target.token && state->target.addresses == target.addresses) return;
    state->target = std::move(target);
    for (const auto& one : state->all()) one->look();
  });
}

void Relay::leave_ports() {
  asio::post(state_->io, [state = state_.get()] {
    state->is_leaving = true;
    for (Port& port : state->ports) {
      Error ignored;
      port.acceptor.close(ignored);
      port.pause.cancel();
    }
  });
}

bool Relay::drain(const std::vector<std::int64_t>& ms) {
  constexpr std::int64_t kLastLooks = 4;  // that its thread may take, busy as it is
  const std::int64_t most_ms = ms.empty() ? 0 : *std::ranges::max_element(ms);
  const std::int64_t from_ns = state_->clock.monotonic_ns();
  std::int64_t passed_ms = 0;
  std::unique_lock lock(state_->mutex);
  while (state_->count > 0 &&
         passed_ms < most_ms + limits::kRelayLastMs + kLastLooks * kDrainLookMs) {
    asio::post(state_->io,
               [state = state_.get(), ms, passed_ms] { state->end_some(ms, passed_ms); });
    state_->changed.wait_for(lock, std::chrono::milliseconds(kDrainLookMs));
    passed_ms = (state_->clock.monotonic_ns() - from_ns) / 1'000'000;
  }
  return state_->count == 0;
}

std::size_t Relay::connections() const {
  const std::lock_guard lock(state_->mutex);
  return state_->count;
}

}  // namespace commensal::relay
