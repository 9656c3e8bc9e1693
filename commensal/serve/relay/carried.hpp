// SPDX-License-Identifier: Apache-2.0
#pragma once

// Within relay/ only: this header shows Boost.
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_relay.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace commensal::relay {

namespace asio = boost::asio;

/// Where a connection may go now; `token` 0: nowhere.
struct Way {
  std::int64_t token = 0;
  std::string address;
  std::string secret;  // Target's
};

/// One connection from a client to the target. The relay's thread only.
class Carried : public std::enable_shared_from_this<Carried> {
 public:
  using Socket = asio::ip::tcp::socket;
  struct Bounds {
    std::int64_t wait_ms = limits::kRelayWaitMs;
    std::int64_t idle_ms = limits::kRelayIdleMs;
  };

  /// `where` says where it may go, `ended` is called once; both outlive it.
  Carried(Socket client, std::string network, const core::Clock& clock, const Bounds& bounds,
          std::function<Way()> where, std::function<void(const Carried*)> ended);

  void start();
  /// Ends it.
  void close();
  /// It may have somewhere to go, or have to leave where it is: once it has passed on what its
  /// target has said last.
  void look();
  /// Whether nothing is under way on it, for certain: its client has said nothing yet, or its
  /// target has ended and all that it said is on its way.
  bool is_over();
  /// Whether it may be between two calls: its target has had the last word, all of which has
  /// arrived, and there was none since for limits::kRelayQuietMs.
  bool is_quiet();
  const std::string& network() const { return network_; }
  std::int64_t since_ns() const { return since_ns_; }

 private:
  using Error = boost::system::error_code;
  struct Half {
    Socket& from;
    Socket& to;
    std::vector<std::uint8_t> buffer = {};
    bool is_writing = false;
    bool has_ended = false;
  };

  void dial();
  void dial_again();
  void on_connected(const Way& way);
  void begin();
  void pump(Half& half);
  void on_read(Half& half, Error error, std::size_t bytes);
  void tick();
  bool is_late();
  bool has_more_to_say();
  bool has_client_more();
  std::int64_t silence_ms() const;

  Socket client_, target_;
  const std::string network_;
  const core::Clock& clock_;
  const Bounds bounds_;
  const std::function<Way()> where_;
  const std::function<void(const Carried*)> ended_;
  asio::ip::tcp::resolver resolver_;
  asio::steady_timer timer_;
  std::array<Half, 2> halves_;  // from the client, from the target
  core::Bytes header_;
  const std::int64_t since_ns_;
  std::int64_t dialled_ns_ = 0;
  std::int64_t heard_ns_ = 0;   // the last byte
  std::int64_t token_ = 0;      // whose target_ is; 0: nobody's
  std::int64_t leaves_ns_ = 0;  // since when it is to leave that; 0: it is not
  std::uint64_t tries_ = 0;
  bool is_dialling_ = false;
  bool has_client_spoken_ = false;
  bool was_target_last_ = true;
  bool is_closed_ = false;
};

}  // namespace commensal::relay
