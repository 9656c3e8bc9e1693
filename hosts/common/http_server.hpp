// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tl/expected.hpp>

namespace hosts::common {

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

/// A server for figures: GET only, a thread of its own, one answer a connection, at most
/// kConnectionsMax of them at a time and kWaitMs for each; its requests are a few lines.
class HttpServer {
 public:
  static constexpr std::size_t kConnectionsMax = 32;
  static constexpr std::size_t kHeadBytesMax = 8192;
  static constexpr int kWaitMs = 2000;

  /// Called in the server's thread with the target, such as "/2/summary".
  using Handler = std::function<HttpAnswer(std::string_view target)>;

  /// `address`: HOST:PORT with a numeric host; port 0 takes a free one.
  /// Error: one line, also where the address is taken.
  static tl::expected<std::unique_ptr<HttpServer>, std::string> open(const std::string& address,
                                                                     Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();  // answers nobody any more

  std::uint16_t port() const { return port_; }

 private:
  HttpServer(int listener, int wake, std::uint16_t port, Handler handler);
  void run();

  int listener_;
  int wake_;  // an eventfd
  std::uint16_t port_;
  Handler handler_;
  std::thread thread_;
};

}  // namespace hosts::common
