// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/guest/governor_server.hpp>
#include <commensal/collocation/guest/share.hpp>

namespace commensal::guest {
namespace {

Wish wish_of(const GuestStatus& guest) {
  return {guest.guest.weight, static_cast<double>(guest.guest.threads), guest.report.wants};
}

}  // namespace

core::Result<GovernorServer> GovernorServer::open(const core::Path& socket, std::string host,
                                                  const Join& own, double processors,
                                                  const Promise& promise) {
  COMMENSAL_ASSIGN(Descriptor listener, listen_at(socket));
  Descriptor bell(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (bell.get() < 0) {
    return core::fail(core::ErrorCode::kUnavailable, "no descriptor for the governor's own use");
  }
  return GovernorServer(std::move(listener), std::move(bell), std::move(host), own, processors,
                        promise);
}

GovernorServer::GovernorServer(Descriptor listener, Descriptor bell, std::string host,
                               const Join& own, double processors, const Promise& promise)
    : listener_(std::move(listener)),
      bell_(std::move(bell)),
      host_(std::move(host)),
      processors_(processors),
      promise_(promise) {
  own_.guest = own;
  count_threads();
}

void GovernorServer::count_threads() {
  double threads = own_.guest.threads;
  for (const Peer& peer : peers_) threads += peer.guest ? peer.guest->guest.threads : 0;
  capacity_ = std::max(capacity_, std::min(threads, processors_));
}

void GovernorServer::listen(int wait_ms, double now_s, const std::function<std::string()>& status) {
  std::vector<pollfd> ears{{listener_.get(), POLLIN, 0}, {bell_.get(), POLLIN, 0}};
  for (const Peer& peer : peers_) ears.push_back({peer.lines.fd(), POLLIN, 0});
  if (::poll(ears.data(), ears.size(), wait_ms) > 0) {
    std::uint64_t rung = 0;
    (void)!::read(bell_.get(), &rung, sizeof rung);
    while (auto socket = accept_from(listener_)) {
      if (peers_.size() >= kPeersMax) continue;  // closed without a word
      peers_.emplace_back(Lines(std::move(*socket), limits::kGuestLineBytesMax)).heard_s = now_s;
    }
    for (Peer& peer : peers_) hear(peer, now_s, status);
  }
  std::erase_if(peers_, [&](const Peer& peer) {
    return !peer.lines.is_open() || now_s - peer.heard_s > kSilentS;
  });
}

void GovernorServer::hear(Peer& peer, double now_s, const std::function<std::string()>& status) {
  peer.lines.receive();
  while (const auto line = peer.lines.next()) {
    peer.heard_s = now_s;
    if (!take(peer, *line, status)) peer.heard_s = -kSilentS - 1 + now_s;  // talks nonsense: out
  }
}

core::Result<void> GovernorServer::take(Peer& peer, const std::string& line,
                                        const std::function<std::string()>& status) {
  COMMENSAL_ASSIGN(const ToGovernor said, parse_to_governor(line));
  if (const auto* join = std::get_if<Join>(&said)) {
    if (peer.guest) return core::fail(core::ErrorCode::kInvalidArgument, "it has joined before");
    welcome(peer, *join);
  } else if (const auto* report = std::get_if<Report>(&said)) {
    if (!peer.guest) return core::fail(core::ErrorCode::kInvalidArgument, "it has not joined");
    peer.guest->report = *report;
  } else {
    peer.lines.send(status());
  }
  return {};
}

void GovernorServer::welcome(Peer& peer, const Join& join) {
  peer.guest = GuestStatus{join, {}, 0};
  const Promise before = promise_;
  if (join.asked) promise_ = stricter(promise_, *join.asked);
  for (Peer& one : peers_) {
    const bool is_news = &one == &peer || promise_ != before;
    if (one.guest && is_news) one.lines.send(line_of(Joined{host_, promise_}));
  }
  count_threads();
}

double GovernorServer::share(double now_s, double level, const Report& own) {
  own_.report = own;
  std::vector<GuestStatus*> guests{&own_};
  std::vector<Peer*> peers;
  for (Peer& peer : peers_) {
    if (!peer.guest) continue;
    guests.push_back(&*peer.guest);
    peers.push_back(&peer);
  }
  std::vector<Wish> wishes;
  for (const GuestStatus* guest : guests) wishes.push_back(wish_of(*guest));
  const std::vector<double> levels = divide(level, capacity_, wishes);
  for (std::size_t i = 0; i < guests.size(); ++i) guests[i]->level = levels[i];
  for (Peer* peer : peers) {
    const double told = peer->guest->level;
    if (told == peer->told_level && now_s - peer->told_s < kHeartbeatS) continue;
    peer->lines.send(line_of(Level{told}));
    peer->told_level = told;
    peer->told_s = now_s;
  }
  return own_.level;
}

void GovernorServer::wake() const {
  const std::uint64_t once = 1;
  (void)!::write(bell_.get(), &once, sizeof once);
}

std::vector<GuestStatus> GovernorServer::guests() const {
  std::vector<GuestStatus> all{own_};
  for (const Peer& peer : peers_) {
    if (peer.guest) all.push_back(*peer.guest);
  }
  return all;
}

}  // namespace commensal::guest
