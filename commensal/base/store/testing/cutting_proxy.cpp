// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <commensal/base/core/check.hpp>
#include <commensal/base/store/testing/cutting_proxy.hpp>
#include <cstring>
#include <vector>

namespace commensal::store::testing {
namespace {

constexpr const char* kSocket = ".s.PGSQL.5432";
constexpr int kLookMs = 20;
constexpr int kAnswerMs = 5'000;

sockaddr_un address_in(const core::Path& folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder / kSocket).c_str(), sizeof address.sun_path - 1);
  return address;
}

core::Descriptor stream_socket() {
  return core::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

bool write_all(int to, const char* data, ssize_t size) {
  while (size > 0) {
    const ssize_t done = ::send(to, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (done <= 0) return false;
    data += done;
    size -= done;
  }
  return true;
}

bool is_readable(int fd, int wait_ms) {
  pollfd socket{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&socket, 1, wait_ms) > 0;
}

}  // namespace

CuttingProxy::CuttingProxy(core::Path server)
    : server_(std::move(server)),
      folder_(core::TemporaryFolder::make("commensal-cut").value()),
      listening_(stream_socket()) {
  const sockaddr_un address = address_in(folder());
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  core::check(
      ::bind(listening_.get(), where, sizeof address) == 0 && ::listen(listening_.get(), 16) == 0,
      "the proxy listens");
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

CuttingProxy::~CuttingProxy() { is_ending_ = true; }

void CuttingProxy::arm(int number, Cut cut, std::function<void()> and_then) {
  cut_ = cut;
  and_then_ = std::move(and_then);
  left_ = number;
}

void CuttingProxy::serve(const std::stop_token& stop) {
  std::vector<std::jthread> connections;
  while (!stop.stop_requested()) {
    if (!is_readable(listening_.get(), kLookMs)) continue;
    const int client = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    connections.emplace_back([this, client] {
      const core::Descriptor asking(client), asked = stream_socket();
      const sockaddr_un address = address_in(server_);
      const auto* where = reinterpret_cast<const sockaddr*>(&address);
      if (::connect(asked.get(), where, sizeof address) == 0) pass(asking.get(), asked.get());
    });
  }
}

void CuttingProxy::pass(int client, int server) {
  std::array<char, 1 << 16> block{};
  const auto move = [&](int from, int to) {
    const ssize_t got = ::read(from, block.data(), block.size());
    return got > 0 && write_all(to, block.data(), got);
  };
  while (!is_ending_) {
    std::array<pollfd, 2> both = {pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    if (::poll(both.data(), both.size(), kLookMs) <= 0) continue;
    if (both[1].revents != 0 && !move(server, client)) return;
    if (both[0].revents == 0) continue;
    const bool is_cut = left_ >= 0 && left_-- == 0;
    if (is_cut && cut_ == Cut::kDuring) ::shutdown(client, SHUT_WR);
    if ((!is_cut || cut_ != Cut::kBefore) && !move(client, server)) return;
    if (!is_cut) continue;
    if (cut_ != Cut::kBefore && is_readable(server, kAnswerMs)) {
      std::ignore = ::read(server, block.data(), block.size());
    }
    return and_then_();
  }
}

}  // namespace commensal::store::testing
