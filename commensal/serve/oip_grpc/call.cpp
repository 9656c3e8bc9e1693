// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/oip_grpc/call.hpp>
#include <commensal/serve/oip_grpc/inflate.hpp>
#include <utility>

namespace commensal::oip_grpc {

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr const char* kRequestId = "x-request-id";
constexpr const char* kStops = "the gateway stops";

grpc::Status to_status(const core::Error& error) {
  return {static_cast<grpc::StatusCode>(rpc::status_code(error.code)),
          protocol::one_line(error.message)};
}

/// The first; "" where there is none.
std::string metadata_of(const grpc::CallbackServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return "";
  return {found->second.data(), found->second.size()};
}

std::string only_metadata_of(const grpc::CallbackServerContext& context, const char* name) {
  return context.client_metadata().count(name) == 1 ? metadata_of(context, name) : "";
}

/// At the least rate at which an answer is read over HTTP.
std::int64_t writing_ns_max(std::size_t bytes) {
  const auto earned_ms = static_cast<std::int64_t>(bytes) * 1000 / limits::kHttpBytesPerSecondMin;
  return (limits::kHttpPieceWaitMs + earned_ms) * kMs;
}

}  // namespace

bool Hall::refuse(const std::string& network) {
  const std::lock_guard lock(mutex);
  return refused.take(network, services.clock.monotonic_ns());
}

bool Hall::take_back(const std::string& network, const std::string& account) {
  const std::int64_t now_ns = services.clock.monotonic_ns();
  const std::lock_guard lock(mutex);
  const bool may_network = taken_back.take("@" + network, now_ns);
  return (account.empty() || taken_back.take(account, now_ns)) && may_network;
}

bool Hall::add_stranger(const std::string& network) {
  const std::lock_guard lock(mutex);
  return ++strangers[network] <= limits::kGrpcStrangerCallsMax;
}

void Hall::forget_stranger(const std::string& network) {
  const std::lock_guard lock(mutex);
  const auto found = strangers.find(network);
  if (--found->second == 0) strangers.erase(found);
}

Call::Call(std::shared_ptr<Hall> hall, grpc::GenericCallbackServerContext* context)
    : hall_(std::move(hall)),
      context_(context),
      from_(rpc::peer_of(context->peer(), *hall_->door)),
      method_(find_method(context->method())),
      authorization_(metadata_of(*context, "authorization")),
      tag_(hall_->services.serving.observer.tag(only_metadata_of(*context, kRequestId),
                                                only_metadata_of(*context, "traceparent"))) {
  context->AddInitialMetadata(kRequestId, tag_.id);
}

Call* Call::begin(const std::shared_ptr<Hall>& hall, grpc::GenericCallbackServerContext* context) {
  auto call = std::make_shared<Call>(hall, context);
  {
    const std::lock_guard lock(call->mutex_);
    call->self_ = call;
  }
  bool is_stopped = false;
  {
    const std::lock_guard lock(hall->mutex);
    is_stopped = hall->is_stopped;
    hall->calls.emplace(call.get(), call);
  }
  // gRPC takes whatever comes on a connection, sooner than our loop can say whose it is.
  if (!hall->add_stranger(call->from_.network)) hall->door->cut_off(call->from_.connection);
  if (is_stopped) {
    call->refuse({core::ErrorCode::kUnavailable, kStops});
  } else if (call->method_ == nullptr) {
    call->refuse({core::ErrorCode::kUnsupported, "there is no such call"});
  } else {
    call->admit();
  }
  return call.get();
}

/// Each request of a stream counts as a call of its own.
void Call::admit() {
  const auto turn = std::make_shared<Turn>(Turn{std::make_shared<oip::Asker>()});
  turn->asker->left = left_;
  turn->asker->tag = tag_;
  const oip::Credentials who{.authorization = authorization_,
                             .party = "@" + from_.network,  // no account is called so
                             .is_strangers = true,
                             .is_local = from_.is_local};
  oip::admit(hall_->services, who, method_->auth, method_->scope, turn->asker,
             [self = shared_from_this(), turn](const core::Result<void>& admitted) {
               self->on_admitted(turn, admitted);
             });
}

void Call::on_admitted(const TurnPtr& turn, const core::Result<void>& admitted) {
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    is_admitting_ = false;
    is_news = !is_finished_ && turn->asker->has_account && account_.empty();
    if (is_news) {
      account_ = turn->asker->account.name;
      hall_->door->vouch(from_.connection);
      hall_->door->know(from_.connection);
    }
  }
  if (is_news) hall_->forget_stranger(from_.network);
  if (!admitted) return refuse(admitted.error());
  const std::lock_guard lock(mutex_);
  next_ = turn;
  read_locked();
  pump_locked();
}

void Call::read_locked() {
  if (is_finished_ || end_ || !next_) return;
  is_reading_ = true;
  client_since_ns_ = hall_->services.clock.monotonic_ns();
  client_ns_max_ =
      (is_known_locked() ? limits::kGrpcMessageWaitMs : limits::kHttpPieceWaitMs) * kMs;
  incoming_.Clear();
  StartRead(&incoming_);
}

/// Whether one more request may come, which is for the caller to admit().
bool Call::take_next_locked() {
  if (is_finished_ || end_ || is_read_ || is_reading_ || is_admitting_) return false;
  is_admitting_ = method_->is_stream && turns_.size() < limits::kGrpcStreamRequestsMax;
  return is_admitting_;
}

void Call::OnReadDone(bool ok) {
  TurnPtr turn;
  grpc::ByteBuffer message;
  {
    const std::lock_guard lock(mutex_);
    is_reading_ = false;
    client_since_ns_ = 0;
    turn = std::exchange(next_, nullptr);
    if (ok && !end_) {
      ++requests_;
      message.Swap(&incoming_);
      turns_.push_back(turn);
    } else {
      is_read_ = true;
      if (!ok && requests_ == 0 && !end_ && !method_->is_stream)
        end_ = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "expected a message");
      return pump_locked();
    }
  }
  receive(turn, std::move(message));
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    goes_on = take_next_locked();
  }
  if (goes_on) admit();
}

void Call::receive(const TurnPtr& turn, grpc::ByteBuffer message) {
  const auto bytes = static_cast<std::int64_t>(message.Length());
  if (bytes > method_->bytes_max)
    return answer(turn, core::fail(core::ErrorCode::kResourceExhausted,
                                   "the message has {} bytes, at most {} are accepted here", bytes,
                                   method_->bytes_max));
  const auto held = turn->asker->memory.set(bytes);
  if (!held) return answer(turn, tl::unexpected(held.error()));
  const grpc_compression_algorithm algorithm = compression_of(message);
  const bool is_compressed = algorithm != GRPC_COMPRESS_NONE;
  if (is_compressed) {
    const std::lock_guard lock(mutex_);
    // An answer comes as its request did: how, is said before the first.
    if (!is_finished_ && !is_writing_ && !was_served_ && !std::exchange(is_compressing_, true))
      context_->set_compression_algorithm(algorithm);
  }
  if (!is_compressed && std::cmp_less(bytes, limits::kHttpHeavyBytesMin))
    return run(turn, std::move(message), false);
  hall_->services.heavy->post(turn->asker->line,
                              [self = shared_from_this(), turn, message, is_compressed] {
                                self->run(turn, message, is_compressed);
                              });
}

void Call::run(const TurnPtr& turn, grpc::ByteBuffer message, bool is_compressed) {
  if (left_.stop_requested()) return;
  if (is_compressed) {
    auto whole = inflated(message, method_->bytes_max, turn->asker->memory);
    if (!whole) return answer(turn, tl::unexpected(whole.error()));
    message = *std::move(whole);
  }
  method_->run({hall_->services, turn->asker, std::move(message)},
               [self = shared_from_this(), turn](core::Result<grpc::ByteBuffer> said) {
                 self->answer(turn, std::move(said));
               });
}

void Call::answer(const TurnPtr& turn, core::Result<grpc::ByteBuffer> answer) {
  if (!turn->asker->has_account && answer)
    hall_->services.serving.strangers.answer("@" + from_.network, answer->Length(),
                                             hall_->services.clock.monotonic_ns());
  const std::lock_guard lock(mutex_);
  turn->answer = std::move(answer);
  pump_locked();
}

/// Who shows no token and asks too often is refused so often, then cut off with all strangers of
/// its network. Not each connection at its first: its other calls, which gRPC has taken, would
/// be nobody's then, and count nowhere.
void Call::refuse(const core::Error& error) {
  bool is_known = false;
  {
    const std::lock_guard lock(mutex_);
    is_known = is_known_locked();
    if (!end_) end_ = to_status(error);
    pump_locked();
  }
  const std::int64_t now_ns = hall_->services.clock.monotonic_ns();
  if (is_known || hall_->services.serving.strangers.ask("@" + from_.network, now_ns)) return;
  if (!hall_->refuse(from_.network)) hall_->door->cut_off(from_.connection);
}

void Call::finish_locked(const grpc::Status& status) {
  is_finished_ = true;
  code_ = status.error_code();
  Finish(status);
}

void Call::pump_locked() {
  if (is_finished_ || is_writing_ || is_cancelling_) return;
  // What was asked before the end is answered, unless nobody is there.
  const bool is_gone = left_.stop_requested();
  if (!is_gone && !turns_.empty() && turns_.front()->answer) {
    auto& said = *turns_.front()->answer;
    if (!said) return finish_locked(to_status(said.error()));
    was_served_ = is_writing_ = true;
    client_since_ns_ = hall_->services.clock.monotonic_ns();
    client_ns_max_ = writing_ns_max(said->Length());
    if (method_->is_stream) return StartWrite(&*said);
    is_finished_ = true;
    code_ = grpc::StatusCode::OK;
    return StartWriteAndFinish(&*said, grpc::WriteOptions(), grpc::Status::OK);
  }
  if (end_ && (is_gone || turns_.empty())) return finish_locked(*end_);
  if (is_read_ && turns_.empty() && !is_admitting_) finish_locked(grpc::Status::OK);
}

void Call::OnWriteDone(bool ok) {
  if (!ok) left_.request_stop();
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    client_since_ns_ = is_reading_ && !is_finished_ ? hall_->services.clock.monotonic_ns() : 0;
    client_ns_max_ = limits::kGrpcMessageWaitMs * kMs;
    if (!turns_.empty()) turns_.pop_front();
    if (!ok && !end_) end_ = grpc::Status::CANCELLED;
    goes_on = take_next_locked();
    pump_locked();
  }
  if (goes_on) admit();
}

/// A call that is made and taken back at once costs more than one that is answered, and never
/// counts as one that is open. Where a connection ends, all its calls are taken back: that is no
/// fault. An account has its calls from wherever it likes.
void Call::OnCancel() {
  left_.request_stop();  // not under the mutex: the gateway may answer before it returns
  std::string account;
  {
    const std::lock_guard lock(mutex_);
    account = account_;
  }
  if (hall_->door->is_open(from_.connection) && !hall_->take_back(from_.network, account))
    hall_->door->cut_off(from_.connection);
  const std::lock_guard lock(mutex_);
  if (!end_) end_ = grpc::Status::CANCELLED;
  pump_locked();
}

void Call::leave() {
  if (method_ == nullptr || !method_->is_stream) return;
  const std::lock_guard lock(mutex_);
  if (!end_) end_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, kStops);
  pump_locked();
}

void Call::look(std::int64_t now_ns) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_late = client_since_ns_ > 0 && now_ns - client_since_ns_ > client_ns_max_;
    if (!is_late || is_cancelling_) return;
    // gRPC is called no more where only the last write is left.
    if (is_finished_) return hall_->door->end(from_.connection);
    is_cancelling_ = true;
  }
  context_->TryCancel();  // not under the mutex: gRPC may react before it returns
  const std::lock_guard lock(mutex_);
  is_cancelling_ = false;
  pump_locked();
}

void Call::OnDone() {
  left_.request_stop();
  {
    const std::lock_guard lock(hall_->mutex);
    hall_->calls.erase(this);
  }
  std::shared_ptr<Call> last;
  bool is_known = false, was_served = false;
  grpc::StatusCode code{};
  {
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
    code = code_;
    is_known = is_known_locked();
    was_served = was_served_;
    last = std::move(self_);
    turns_.clear();
  }
  if (!is_known) hall_->forget_stranger(from_.network);
  hall_->services.serving.observer.answered(
      observe::GrpcCall{tag_, method_ == nullptr ? observe::kNoRoute : method_->name, code});
  // Who is served, with or without a token, is no silent stranger: its time begins anew.
  if (!is_known && was_served) hall_->door->vouch(from_.connection);
  if (is_known || was_served) hall_->door->disown(from_.connection);
}

}  // namespace commensal::oip_grpc
