// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/rpc/peer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Calls of gRPC as a server sees them. Source: gRPC over HTTP2 (PROTOCOL-HTTP2.md of gRPC).
namespace commensal::http2 {

/// In pieces, as it came or as it is sent.
struct Message {
  std::vector<std::string> pieces;
  bool is_compressed = false;  // as the call's grpc-encoding says

  std::int64_t bytes() const;
};

struct Status {
  int code = 0;  // rpc::status_code()'s
  std::string message = {};
};
inline constexpr int kOk = 0, kCancelled = 1, kInternal = 13;

/// Names are in lower case, and may come more than once.
using Lines = std::vector<std::pair<std::string, std::string>>;

/// What comes before the first message.
struct Head {
  std::string path, encoding;  // grpc-encoding
  Lines lines;
  rpc::Peer peer;
  bool is_too_long = false;  // its lines are not all there: limits::kHttpHeaderBytesMax
};

enum class End : std::uint8_t {
  kAnswered,
  kTakenBack,  // by its client, who waited for less than limits::kGrpcHastyMs
  kLate,       // its client waits no more, as it has said in the head
  kLost,       // with its connection
  kCancelled,  // by this side
};

class Session;
class Gate;

/// What is done with a call; nothing once it has ended. Thread-safety: any thread. No reaction
/// (Call) is called before an action returns.
class Line {
 public:
  Line(std::shared_ptr<Gate> gate, std::weak_ptr<Session> session, std::int32_t stream);

  /// The next message, once.
  void read() const;
  void write(Message message) const;
  /// After what is written.
  void finish(Status status) const;
  /// At once, whatever is written.
  void cancel() const;

 private:
  template <class Act>
  void act(Act act) const;

  std::shared_ptr<Gate> gate_;
  std::weak_ptr<Session> session_;
  std::int32_t stream_;
};

/// Whoever answers a call. Its reactions are called on the server's thread, one at a time, and are
/// quick; the server holds it until on_end.
class Call {
 public:
  virtual ~Call() = default;

  /// A message of so many bytes begins. False: nothing is read any more.
  virtual bool on_coming(std::int64_t bytes) = 0;
  /// What was to be read, whole; none: there is no more.
  virtual void on_message(std::optional<Message> message) = 0;
  /// Its client has room for the next.
  virtual void on_written() = 0;
  /// Last, and always.
  virtual void on_end(End how) = 0;
};

struct Begun {
  std::shared_ptr<Call> call;
  Lines lines = {};  // of the answer's head
};
/// Called on the server's thread.
using Begin = std::function<Begun(Head head, Line line)>;

}  // namespace commensal::http2
