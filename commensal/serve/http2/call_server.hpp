// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/network.hpp>
#include <commensal/base/core/result.hpp>
#include <commensal/serve/http2/call.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <cstdint>
#include <memory>
#include <string>

namespace commensal::http2 {

struct Terms {
  std::size_t calls_max = 1;  // of one connection, at a time
  std::int64_t idle_ms = 0;   // without a call: then a connection ends
  std::int64_t write_ms = 0;  // for 256 KiB to be taken by the other side: likewise
};

/// A server of gRPC's calls behind a door, over HTTP/2 (RFC 9113, by nghttp2). gRPC's own library
/// makes a call of all that it reads before anybody is asked, on a thread that all its servers
/// share, so that one client who takes its calls back holds up everybody. Here a connection is read
/// 64 KiB at a time, each call is told of as it comes, and the next piece is read after that; a
/// message comes as it is asked for, and beyond 64 KiB of it only then. One thread for all
/// connections.
/// Thread-safety: the owner's thread; door(), any.
class CallServer {
 public:
  /// It listens, and admits nobody yet. `address` is "host:port"; port 0 takes a free one. With an
  /// identity it speaks TLS (1.2 at least). `listening`: rpc::Door::open()'s. Error: kUnavailable.
  static core::Result<std::unique_ptr<CallServer>> open(
      const std::string& address, std::shared_ptr<const tls::Identity> identity, const Terms& terms,
      const rpc::DoorBounds& bounds, const core::Listener* listening = nullptr);
  CallServer(const CallServer&) = delete;
  CallServer& operator=(const CallServer&) = delete;
  /// As stop().
  ~CallServer();

  void begin(Begin begin);
  const std::shared_ptr<rpc::Door>& door() const;
  /// Takes no more calls, lets those under way finish for `grace_ms`, and ends what is left.
  void drain(std::int64_t grace_ms);
  /// Ends every call; none is told of anything after that.
  void stop();

 private:
  struct State;
  explicit CallServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::http2
