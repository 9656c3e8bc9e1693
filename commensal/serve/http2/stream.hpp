// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/http2/call.hpp>
#include <deque>
#include <string_view>

/// What comes and goes of one call; for this room's own sources only. No thread-safety.
namespace commensal::http2 {

/// Cuts what comes into messages, one at a time: a byte that says whether it is compressed, four
/// for how long it is, and the message.
class Incoming {
 public:
  enum class State : std::uint8_t { kPartial, kWhole, kRefused, kBroken };
  struct Taken {
    std::size_t bytes = 0;
    State state = State::kPartial;
  };
  /// Of `data`, no more than the one message. `call` may refuse it.
  Taken take(std::string_view data, Call& call);
  /// The whole one.
  Message release();
  bool is_between() const { return head_size_ == 0; }
  /// Of the message that has begun, what is left.
  std::int64_t left() const { return left_; }

 private:
  State begin(Call& call);

  char head_[5] = {};
  std::size_t head_size_ = 0;
  std::int64_t left_ = 0;
  Message message_;
};

/// What is to be sent, in pieces.
class Outgoing {
 public:
  void add(Message message);
  std::int64_t bytes() const { return bytes_; }
  /// Appends so many to `to`; how many messages have ended with them.
  int move(std::string& to, std::size_t size);

 private:
  struct Piece {
    std::string bytes;
    bool is_last = false;
  };
  std::deque<Piece> pieces_;
  std::size_t at_ = 0;  // in the first
  std::int64_t bytes_ = 0;
};

struct Stream {
  std::int32_t id = 0;
  Head head = {};
  std::string method = {}, content_type = {};
  std::int64_t head_bytes = 0;
  std::int64_t deadline_ns = 0;  // 0: none
  bool is_hasty = false;         // and that is limits::kGrpcHastyMs or sooner
  std::shared_ptr<Call> call = {};
  Lines lines = {};  // of the answer's head

  std::string waiting = {};  // has come, and is not read yet
  Incoming incoming = {};
  std::int32_t window = (1 << 16) - 1;  // so much may come ahead: HTTP/2's first
  bool is_reading = false;
  bool is_over = false;  // its client has said all
  bool is_deaf = false;  // nothing is read any more

  Outgoing outgoing = {};
  bool is_answering = false;              // the answer's head is said
  bool is_ended = false;                  // all of the answer is
  std::optional<Status> status = {};      // to be said, after the rest
  std::optional<End> end = std::nullopt;  // as this side has ended it
};

/// "100m" (of gRPC's head) in nanoseconds; 0: it is none.
std::int64_t read_timeout_ns(std::string_view text);
/// A status's text as a head has it: printable, the rest in percent. Source: as call.hpp.
std::string percent_encoded(std::string_view text);

}  // namespace commensal::http2
