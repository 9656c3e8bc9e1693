// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

/// For tests only.
namespace commensal::probe::testing {

/// A server on a free port of 127.0.0.1 that does whatever its script says with each connection.
class FakeServer {
 public:
  /// Called with the connection and the first bytes that came; then the connection is closed.
  using Script = std::function<void(int socket, const std::string& request)>;

  explicit FakeServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    (void)bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    (void)listen(listener_, 16);
    (void)getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer() {
    stop_ = true;
    thread_.join();
    (void)close(listener_);
  }

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// For scripts: send what is there, whatever becomes of it.
  static void put(int socket, const std::string& text) {
    (void)!::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  }
  bool is_stopped() const { return stop_; }

 private:
  void run() {
    while (!stop_) {
      pollfd one{listener_, POLLIN, 0};
      if (poll(&one, 1, 20) != 1) continue;
      const int socket = accept(listener_, nullptr, nullptr);
      char buffer[4096];
      const ssize_t got = recv(socket, buffer, sizeof buffer, 0);
      script_(socket, {buffer, static_cast<std::size_t>(got < 0 ? 0 : got)});
      (void)close(socket);
    }
  }

  Script script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

inline std::string http_text(const std::string& body, const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

/// A file of tests/vectors/probes.
inline std::string recorded(const std::string& name) {
  std::ifstream file(std::string(COMMENSAL_SOURCE_DIR) + "/tests/vectors/probes/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// `text` with the first `what` replaced.
inline std::string bent(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? "no " + what : text.replace(at, what.size(), with);
}

}  // namespace commensal::probe::testing
