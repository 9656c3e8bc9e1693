// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/server_callback.h>

#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/serve/observe/request_tag.hpp>
#include <commensal/serve/oip_grpc/methods.hpp>
#include <commensal/serve/rpc/generic_server.hpp>
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
      // networks
      limits::kGrpcRefusedPerSecond, limits::kGrpcRefusedAtOnce / limits::kGrpcRefusedPerSecond};
  core::Rates<std::string> taken_back{
      // networks ("@...") and accounts
      limits::kGrpcTakenBackPerSecond,
      limits::kGrpcTakenBackAtOnce / limits::kGrpcTakenBackPerSecond};

  /// One more call of this network's strangers is refused as too many. Whether that may be.
  bool refuse(const std::string& network);
  /// One more call is taken back, of an account's unless that is "". Whether that may be.
  bool take_back(const std::string& network, const std::string& account);
  /// One more call is nobody's yet. Whether that may be.
  bool add_stranger(const std::string& network);
  /// It is an account's now, or over.
  void forget_stranger(const std::string& network);
};

/// Reads a request once it is known whose it is, has it answered, writes the answer; of a stream
/// again and again, in their order, a few at a time. gRPC's threads call its reactions (On...); it
/// holds it until OnDone, whoever answers as long as that takes.
class Call final : public grpc::ServerGenericBidiReactor,
                   public std::enable_shared_from_this<Call> {
 public:
  /// For gRPC, which keeps `context` until OnDone.
  static Call* begin(const std::shared_ptr<Hall>& hall,
                     grpc::GenericCallbackServerContext* context);
  Call(std::shared_ptr<Hall> hall, grpc::GenericCallbackServerContext* context);

  /// A stream ends once what it has asked is answered.
  void leave();
  /// Ends it where its client has been waited for too long.
  void look(std::int64_t now_ns);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  /// A request and its answer.
  struct Turn {
    std::shared_ptr<oip::Asker> asker;
    std::optional<core::Result<grpc::ByteBuffer>> answer = {};
  };
  using TurnPtr = std::shared_ptr<Turn>;

  void admit();
  void on_admitted(const TurnPtr& turn, const core::Result<void>& admitted);
  void receive(const TurnPtr& turn, grpc::ByteBuffer message);
  void run(const TurnPtr& turn, grpc::ByteBuffer message, bool is_compressed);
  void answer(const TurnPtr& turn, core::Result<grpc::ByteBuffer> answer);
  void refuse(const core::Error& error);
  bool is_known_locked() const { return !account_.empty(); }
  void read_locked();
  void pump_locked();
  void finish_locked(const grpc::Status& status);
  bool take_next_locked();

  const std::shared_ptr<Hall> hall_;
  grpc::GenericCallbackServerContext* const context_;  // valid while not finished_
  const rpc::Peer from_;
  const Method* const method_;
  std::string authorization_;
  const observe::RequestTag tag_;  // of all its requests
  std::stop_source left_;

  std::mutex mutex_;  // guards the rest
  std::shared_ptr<Call> self_;
  TurnPtr next_;               // admitted, its request is being read
  grpc::ByteBuffer incoming_;  // gRPC's, while it is read
  std::deque<TurnPtr> turns_;  // read, not yet answered
  std::size_t requests_ = 0;   // begun
  bool is_admitting_ = true;
  bool is_reading_ = false;
  bool is_read_ = false;  // to its end
  bool is_writing_ = false;
  /// Whose it is, once known: then no stranger to the hall, and the door has vouched for it.
  std::string account_;
  bool was_served_ = false;  // an answer was written
  bool is_compressing_ = false;
  std::optional<grpc::Status> end_;
  grpc::StatusCode code_ = grpc::StatusCode::CANCELLED;  // that gRPC was told
  bool is_cancelling_ = false;                           // `context_` is in use: Finish waits
  bool is_finished_ = false;                             // gRPC is called no more
  std::int64_t client_since_ns_ = 0;                     // it is the client's turn; 0: it is not
  std::int64_t client_ns_max_ = 0;
};

}  // namespace commensal::oip_grpc
