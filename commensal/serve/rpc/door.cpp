// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_relay.hpp>
#include <commensal/base/core/places.hpp>
#include <commensal/base/crypto/proxy_header.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <set>
#include <tuple>
#include <vector>

namespace commensal::rpc {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr int kPauseMs = 20;  // where there are no files left
constexpr int kSweepMs = 500;
constexpr int kLookMs = 20;    // at strangers: between two looks gRPC reads some hundred calls
constexpr int kRelaysMax = 4;  // on the way of one connection
constexpr std::uint64_t kFilesOfOne = 4;  // the socket, its copy, and as many for everything else

void turn_away(int accepted) {
  constexpr linger kAtOnce{1, 0};
  ::setsockopt(accepted, SOL_SOCKET, SO_LINGER, &kAtOnce, sizeof kAtOnce);
  ::close(accepted);
}

/// At once, with what has come on it and nobody has read yet: after a shutdown that may be read to
/// its end, which is never where more comes.
void abort_connection(int socket) {
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  ::connect(socket, &nobody, sizeof nobody);
}

/// Linux's tcp_info of today: the C library's ends before what has come, and the kernel's header
/// cannot stand beside that one.
struct TcpInfo {
  std::byte before[128];
  std::uint64_t bytes_received;
};

std::uint64_t bytes_heard(int socket) {
  TcpInfo info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.bytes_received;
}

std::string network_of(const sockaddr_storage& at) {
  return core::network_of(reinterpret_cast<const sockaddr*>(&at));
}

std::size_t share_of_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return limits::kDoorConnectionsMax;
  return std::max<std::size_t>(files.rlim_cur / kFilesOfOne, 1);
}

}  // namespace

Result<std::unique_ptr<Door>> Door::open(const std::string& address, const DoorBounds& bounds,
                                         const core::Listener* listening) {
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorCode::kUnavailable, "cannot listen for {} on '{}': {}", bounds.whom, address,
                why);
  };
  const auto where = core::Endpoint::parse(address);
  if (!where) return refuse("expected HOST:PORT");
  auto listener = listening == nullptr ? core::listen_on(*where) : core::share(*listening);
  if (!listener) return refuse(listener.error().message);
  std::unique_ptr<Door> made(new Door);
  made->bounds_ = bounds;
  made->bounds_.connections_max = std::min(bounds.connections_max, share_of_files());
  made->bounds_.strangers_max =
      std::min(bounds.strangers_max, std::max<std::size_t>(made->bounds_.connections_max / 2, 1));
  made->listener_ = *std::move(listener);
  made->wake_ = core::Descriptor(::eventfd(0, EFD_CLOEXEC));
  made->events_ = core::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {made->listener_.socket.get(), made->wake_.get()}) {
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = fd}};
    if (::epoll_ctl(made->events_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0)
      return refuse("no files are left");
  }
  return made;
}

void Door::begin(std::function<void(int, int)> take) {
  thread_ = std::jthread(
      [this, take = std::move(take)](const std::stop_token& stop) { run(stop, take); });
}

void Door::run(const std::stop_token& stop, const std::function<void(int, int)>& take) {
  std::int64_t looked_ns = clock_.monotonic_ns(), swept_ns = looked_ns;
  bool has_strangers = false, has_ended = false;
  while (!stop.stop_requested()) {
    std::array<epoll_event, 64> seen{};
    const int count = ::epoll_wait(events_.get(), seen.data(), seen.size(),
                                   has_strangers || has_ended ? kLookMs : kSweepMs);
    for (int i = 0; i < count; ++i) {
      const int fd = seen[i].data.fd;
      const bool is_new = fd == listener_.socket.get(), is_unheard = unheard_.contains(fd);
      if (is_new) accept(take);
      if (is_unheard) hear(fd, take);
      (is_new || is_unheard ? has_strangers : has_ended) = true;
    }
    // However many come and go: each look is at all connections.
    const std::int64_t now_ns = clock_.monotonic_ns();
    if (now_ns - looked_ns < std::int64_t{kLookMs} * 1'000'000) continue;
    looked_ns = now_ns;
    has_strangers = look_at_strangers();
    // One that has ended is seen once (its end is an edge), and all that have at the next look.
    if (!has_ended && now_ns - swept_ns < std::int64_t{kSweepMs} * 1'000'000) continue;
    swept_ns = now_ns;
    has_ended = false;
    forget_unheard();
    sweep();
  }
}

void Door::accept(const std::function<void(int, int)>& take) {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  const int accepted = ::accept4(listener_.socket.get(), reinterpret_cast<sockaddr*>(&from), &size,
                                 SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (accepted >= 0 && !listener_.relays.current.empty()) return listen_to(accepted, from);
  if (accepted >= 0) {
    const std::string network = network_of(from);
    return welcome(network) && admit(accepted, from, network, false)
               ? take(listener_.socket.get(), accepted)
               : turn_away(accepted);
  }
  if (errno != EMFILE && errno != ENFILE) return;
  pollfd wake{wake_.get(), POLLIN, 0};
  ::poll(&wake, 1, kPauseMs);
}

/// Who it is from is in front of what it says, perhaps.
void Door::listen_to(int accepted, const sockaddr_storage& from) {
  std::string charged = network_of(from);
  if (relays_.contains(charged)) {
    charged.clear();  // of whom it is counts, as soon as that is said
  } else if (!welcome(charged)) {
    return turn_away(accepted);
  }
  if (unheard_.size() >= bounds_.strangers_max) {
    std::vector<core::Place> places;
    std::vector<int> whose;
    for (const auto& [fd, one] : unheard_) {
      places.push_back({.party = network_of(one.from), .since_ns = one.since_ns});
      whose.push_back(fd);
    }
    if (const auto leaves = core::who_leaves(places)) unheard_.erase(whose[*leaves]);
  }
  unheard_.insert_or_assign(accepted, Unheard{core::Descriptor(accepted), from, from,
                                              clock_.monotonic_ns(), std::move(charged), false});
  epoll_event wanted{.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data = {.fd = accepted}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, accepted, &wanted);
}

void Door::hear(int socket, const std::function<void(int, int)>& take) {
  using State = crypto::ProxyHeader::State;
  Unheard& it = unheard_.at(socket);
  const auto next = [&] {
    return crypto::take_proxy_header(socket, listener_.relays, clock_.wall_ms());
  };
  crypto::ProxyHeader read = next();
  // One relay may have taken it from another, which was the writer's until just now.
  for (int relays = 1; read.state == State::kWhole; ++relays) {
    note_relay(it.from);
    it.from = read.from;
    it.is_relayed = true;
    if (relays == kRelaysMax) break;
    read = next();
  }
  std::string network = network_of(it.from);
  const bool is_said = it.is_relayed || read.state == State::kNone;  // whose it is
  bool is_taken = read.state == State::kNone || read.state == State::kPartial;
  if (read.state == State::kWrong) {
    punish(network);
  } else if (is_taken && is_said && it.charged != network) {
    is_taken = welcome(network);
    it.charged = network;
  }
  if (is_taken && read.state == State::kPartial) return;
  Unheard whole = std::move(it);
  unheard_.erase(socket);
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, socket, nullptr);
  is_taken = is_taken && admit(socket, whole.peer, std::move(network), whole.is_relayed);
  std::ignore = whole.socket.release();
  is_taken ? take(listener_.socket.get(), socket) : turn_away(socket);
}

/// There are relays in its network.
void Door::note_relay(const sockaddr_storage& peer) {
  const std::string network = network_of(peer);
  if (relays_.size() >= limits::kRelayNetworksMax && !relays_.contains(network)) return;
  relays_[network] = clock_.monotonic_ns();
}

void Door::forget_unheard() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  std::erase_if(unheard_, [&](const auto& one) {
    return now_ns - one.second.since_ns > bounds_.stranger_ms * std::int64_t{1'000'000};
  });
  std::erase_if(relays_, [&](const auto& one) {
    return now_ns - one.second > limits::kRelayNetworkMs * std::int64_t{1'000'000};
  });
}

bool Door::welcome(const std::string& network) {
  const std::lock_guard lock(mutex_);
  return newcomers_.admit(network, clock_.monotonic_ns());
}

void Door::punish(const std::string& network) {
  const std::lock_guard lock(mutex_);
  punish_locked(network);
}

bool Door::admit(int accepted, const sockaddr_storage& peer, std::string network, bool is_relayed) {
  const auto* const address = reinterpret_cast<const sockaddr*>(&peer);
  const std::int64_t now_ns = clock_.monotonic_ns();
  const std::lock_guard lock(mutex_);
  core::Descriptor copy(::fcntl(accepted, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid() || !make_room_locked()) return false;
  epoll_event wanted{.events = EPOLLET, .data = {.fd = copy.get()}};  // its end is told unasked
  ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, copy.get(), &wanted);
  connections_.insert_or_assign(
      core::connection_of(address),
      Connection{std::move(copy), std::move(network), now_ns, 0, 0, false, is_relayed});
  return true;
}

bool Door::make_room_locked() {
  std::vector<core::Place> places;
  std::vector<Connections::iterator> whose;
  for (auto one = connections_.begin(); one != connections_.end(); ++one) {
    if (one->second.vouched > 0) continue;
    places.push_back({.party = one->second.network, .since_ns = one->second.since_ns});
    whose.push_back(one);
  }
  if (places.size() < bounds_.strangers_max && connections_.size() < bounds_.connections_max)
    return true;
  const auto leaves = core::who_leaves(places);
  if (leaves) end_locked(whose[*leaves]);
  return leaves.has_value();
}

void Door::end_locked(Connections::iterator which) {
  const int copy = which->second.copy.get();
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, copy, nullptr);  // the socket itself stays open
  abort_connection(copy);
  connections_.erase(which);
}

/// Not the name that a connection of it has.
void Door::punish_locked(const std::string& network) {
  newcomers_.punish(network, clock_.monotonic_ns());
  for (auto one = connections_.begin(); one != connections_.end();) {
    const auto which = one++;
    if (which->second.vouched == 0 && which->second.network == network) end_locked(which);
  }
}

/// Whether there are any.
bool Door::look_at_strangers() {
  const std::lock_guard lock(mutex_);
  bool has_strangers = false;
  std::set<std::string> loud;
  for (auto one = connections_.begin(); one != connections_.end();) {
    const auto which = one++;
    const Connection& it = which->second;
    if (it.vouched > 0) continue;
    has_strangers = true;
    const auto most = it.was_vouched ? bounds_.known_bytes_max : bounds_.stranger_bytes_max;
    if (bytes_heard(it.copy.get()) - it.heard_then <= most) continue;
    it.was_vouched ? end_locked(which) : void(loud.insert(it.network));
  }
  for (const std::string& network : loud) punish_locked(network);
  return has_strangers;
}

void Door::sweep() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  const std::lock_guard lock(mutex_);
  for (auto one = connections_.begin(); one != connections_.end();) {
    const auto which = one++;
    const Connection& it = which->second;
    pollfd ended{it.copy.get(), 0, 0};
    const bool is_late =
        it.vouched == 0 && now_ns - it.since_ns > bounds_.stranger_ms * std::int64_t{1'000'000};
    if (is_late || ::poll(&ended, 1, 0) != 0) end_locked(which);
  }
}

bool Door::call(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return false;
  if (calls_.take(connection, clock_.monotonic_ns())) return true;
  cut_off_locked(found);
  return false;
}

bool Door::is_open(const std::string& connection) const {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return false;
  pollfd look{found->second.copy.get(), POLLRDHUP, 0};
  return ::poll(&look, 1, 0) == 0;
}

void Door::cut_off(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(connection);
  if (found != connections_.end()) cut_off_locked(found);
}

void Door::cut_off_locked(Connections::iterator which) {
  const std::string network = which->second.network;
  end_locked(which);
  punish_locked(network);
}

void Door::end(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(connection);
  if (found != connections_.end()) end_locked(found);
}

void Door::vouch(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  ++found->second.vouched;
  found->second.was_vouched = true;
}

void Door::disown(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end() || found->second.vouched == 0) return;
  if (--found->second.vouched > 0) return;
  found->second.since_ns = clock_.monotonic_ns();
  found->second.heard_then = bytes_heard(found->second.copy.get());
}

void Door::know(const std::string& connection) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(connection);
  if (found != connections_.end()) newcomers_.know(found->second.network, clock_.monotonic_ns());
}

std::size_t Door::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

Door::Origin Door::origin_of(const std::string& connection) const {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return {};
  return {found->second.is_relayed ? Origin::Way::kRelayed : Origin::Way::kDirect,
          found->second.network};
}

void Door::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  const std::uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) == sizeof one) thread_.join();
  // Who comes now is to be refused, not to wait in the kernel.
  listener_.socket = core::Descriptor();
  unheard_.clear();
}

Door::~Door() { stop(); }

}  // namespace commensal::rpc
