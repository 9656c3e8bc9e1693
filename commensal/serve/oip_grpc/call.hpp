// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/serve/http2/call_server.hpp>
#include <commensal/serve/observe/request_tag.hpp>
#include <commensal/serve/oip_grpc/compression.hpp>
#include <commensal/serve/oip_grpc/methods.hpp>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

/// One call, of any method; for this room's own sources only.
namespace commensal::oip_grpc {

class Call;

/// What the calls of a server share. Thread-safety: any thread.
struct Hall {
  const oip::Services& services;
  const std::shared_ptr<rpc::Door> door;
  std::mutex mutex = {};  // guards the rest
  std::map<const Call*, std::weak_ptr<Call>> calls = {};
  std::map<std::string, std::size_t> strangers = {};  // calls of nobody's yet, by network
  bool is_stopped = false;
  core::Rates<std::string> refused{
      // networks ("@...") and accounts
      limits::kGrpcRefusedPerSecond, limits::kGrpcRefusedAtOnce / limits::kGrpcRefusedPerSecond};
  core::Rates<std::string> taken_back{
      // networks ("@...") and accounts
      limits::kGrpcTakenBackPerSecond,
      limits::kGrpcTakenBackAtOnce / limits::kGrpcTakenBackPerSecond};

  /// One more call of this network's ("@...") strangers, or of an account, is refused, of which so
  /// many bytes have come. Whether that may be.
  bool refuse(const std::string& whom, std::int64_t bytes);
  /// One more call is taken back, of an account's unless that is "". Whether that may be.
  bool take_back(const std::string& network, const std::string& account);
  /// One more call is nobody's yet. Whether that may be.
  bool add_stranger(const std::string& network);
  /// Done after limits::kGrpcRefusalPauseMs.
  void later(core::Loop::Task task) const;
  /// It is an account's now, or over.
  void forget_stranger(const std::string& network);
};

/// Reads a request once it is known whose it is, has it answered, writes the answer; of a stream
/// again and again, in their order, a few at a time. The server's thread calls its reactions
/// (on_...); whoever answers holds it as long as that takes.
class Call final : public http2::Call, public std::enable_shared_from_this<Call> {
 public:
  static http2::Begun begin(const std::shared_ptr<Hall>& hall, http2::Head head, http2::Line line);
  Call(std::shared_ptr<Hall> hall, const http2::Head& head, http2::Line line);

  /// A stream ends once what it has asked is answered.
  void leave();
  /// Ends it where its client has been waited for too long.
  void look(std::int64_t now_ns);

  bool on_coming(std::int64_t bytes) override;
  void on_message(std::optional<http2::Message> message) override;
  void on_written() override;
  void on_end(http2::End how) override;

 private:
  /// A request and its answer.
  struct Turn {
    std::shared_ptr<oip::Asker> asker;
    bool is_compressed = false;  // it came so, and is answered so
    std::optional<core::Result<http2::Message>> answer = {};
  };
  using TurnPtr = std::shared_ptr<Turn>;

  void admit();
  void on_admitted(const TurnPtr& turn, const core::Result<void>& admitted);
  void receive(const TurnPtr& turn, http2::Message message);
  void run(const TurnPtr& turn, http2::Message message);
  void answer(const TurnPtr& turn, core::Result<http2::Message> answer);
  void give(const TurnPtr& turn, core::Result<http2::Message> answer);
  bool is_too_often(std::int64_t bytes);
  void refuse(const core::Error& error);
  void end(const core::Error& error);
  std::string whom_locked() const;
  bool is_known_locked() const { return !account_.empty(); }
  void read_locked();
  void pump_locked();
  void finish_locked(const http2::Status& status);
  bool take_next_locked();

  const std::shared_ptr<Hall> hall_;
  const http2::Line line_;
  const rpc::Peer from_;
  const Method* const method_;
  const Compression compression_;
  const std::string authorization_;
  const observe::RequestTag tag_;  // of all its requests
  std::stop_source left_;

  std::mutex mutex_;           // guards the rest
  TurnPtr next_;               // admitted, its request is being read
  std::deque<TurnPtr> turns_;  // read, not yet answered
  std::size_t requests_ = 0;   // begun
  bool is_admitting_ = true;
  bool is_reading_ = false;
  bool is_read_ = false;  // to its end
  bool is_writing_ = false;
  /// Whose it is, once known: then no stranger to the hall, and the door has vouched for it.
  std::string account_;
  bool shows_token_ = false;  // else everybody may be that account
  bool was_served_ = false;   // an answer was written
  std::optional<http2::Status> end_;
  int code_ = http2::kCancelled;      // that its client was told
  bool is_finished_ = false;          // nothing more is said
  std::int64_t client_since_ns_ = 0;  // it is the client's turn; 0: it is not
  std::int64_t client_ns_max_ = 0;
};

}  // namespace commensal::oip_grpc
