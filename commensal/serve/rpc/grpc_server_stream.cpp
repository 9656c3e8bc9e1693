// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/places.hpp>
#include <commensal/serve/rpc/grpc_order.hpp>
#include <commensal/serve/rpc/grpc_server_stream.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <utility>

namespace commensal::rpc {
namespace {

constexpr std::int64_t kDrainMs = 5'000;
constexpr std::int64_t kRoomMs = 20;
// More than the port admits: it makes room for whom it has not refused yet.
constexpr std::size_t kOpenMax = limits::kProvidersMax + 4 * limits::kStrangersMax;

}  // namespace

ServerStream::ServerStream(std::shared_ptr<ServerHall> hall, grpc::CallbackServerContext* context)
    : hall_(std::move(hall)),
      context_(context),
      from_(peer_of(context->peer(), *hall_->door)),
      provider_key_hash_(peer_key_hash(*context->auth_context())) {
  context->AddInitialMetadata(kBundles, kYes);
  const auto said = context->client_metadata().find(kBundles);
  if (said != context->client_metadata().end() && said->second == kYes) outbox_.bundle();
}

ServerStream* ServerStream::begin(std::shared_ptr<ServerHall> hall,
                                  grpc::CallbackServerContext* context) {
  auto stream = std::make_shared<ServerStream>(std::move(hall), context);
  {
    const std::lock_guard lock(stream->mutex_);
    stream->self_ = stream;
  }
  stream->hall_->loop.post([stream] { stream->open(); });
  return stream.get();
}

void ServerStream::open() {
  const bool full = hall_->open.size() >= kOpenMax;
  if (hall_->port == nullptr || full) {
    const char* why = full ? "the gateway has no room for more providers" : "the gateway stopped";
    return end({grpc::StatusCode::UNAVAILABLE, why}, false);
  }
  opened_ = true;
  hall_->open.push_back(shared_from_this());
  Channel channel;
  if (hall_->identity) channel = {hall_->identity->current()->key_hash, provider_key_hash_};
  id_ = hall_->port->on_open(shared_from_this(), channel, from_.network);
  read_next();
}

void ServerStream::read_next() {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  hand_to_grpc(&incoming_);
  StartRead(&incoming_);
}

void ServerStream::OnReadDone(bool ok) {
  take_from_grpc(&incoming_);
  if (!ok) return end(grpc::Status::OK, true);
  const bool is_aside = incoming_.aside();
  auto whole = take_piece();
  if (!whole) return end(to_status(whole.error()), true);
  if (!is_aside) note_piece(assembly_.bytes() == 0);
  if (!*whole) return read_when_held();
  auto messages = from_bundle<ToGateway>(*std::move(*whole));
  if (!messages) return end(to_status(messages.error()), true);
  for (ToGateway& message : *messages) {
    if (Deliver* const made = std::get_if<Deliver>(&message)) receipt::take_roots(made->outputs);
  }
  deliver_next(*std::move(messages), 0);
}

/// What is half sent is counted, to the network that it comes from.
core::Result<std::optional<wire::Frame>> ServerStream::take_piece() {
  COMMENSAL_ASSIGN(auto whole, assembly_.add(std::move(incoming_), message_bytes_max()));
  if (assembly_.bytes() == 0) {
    half_sent_ = {};
  } else if (half_sent_.bytes() == 0) {
    COMMENSAL_ASSIGN(half_sent_, hall_->half_sent.lease(from_.network));
  }
  half_sent_bytes_ = assembly_.bytes();
  return whole;
}

/// Where there is no room for what has come, nothing more is read until there is.
void ServerStream::read_when_held() {
  if (half_sent_.set(assembly_.bytes())) return read_next();
  hall_->loop.post([self = shared_from_this()] { self->make_room(); });
}

/// Somebody's stream ends (core::who_gives_back), this one perhaps: one at a time, each with its
/// connection, since gRPC alone would wait for a peer that does not read.
void ServerStream::make_room() {
  if (closed_) return;
  std::erase_if(hall_->leaving, [](const auto& one) { return one.expired(); });
  if (!hall_->leaving.empty()) return hold_later();
  std::vector<core::Holding> held;
  std::size_t ours = 0;
  for (const auto& one : hall_->open) {
    if (one.get() == this) ours = held.size();
    held.push_back({one->from_.network, one->half_sent_bytes_});
  }
  const auto leaves =
      hall_->open[core::who_gives_back(held, ours, hall_->half_sent.bounds().owner_bytes_max)];
  leaves->end({grpc::StatusCode::RESOURCE_EXHAUSTED,
               "too many large messages are half sent, from this address or from all"},
              true);
  hall_->leaving.push_back(leaves);
  leaves->abort();
  hall_->door->end(leaves->from_.connection);
  hold_later();
}

void ServerStream::hold_later() {
  hall_->loop.after(kRoomMs, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->closed_) self->read_when_held();
  });
}

/// What nobody has asked for takes little memory.
std::int64_t ServerStream::message_bytes_max() const {
  return welcomed_ && was_asked_ ? limits::kRpcMessageBytesMax : limits::kRpcFrameBytesMax;
}

/// A message that has begun holds memory until it ends. One timer a stream, however many messages.
void ServerStream::note_piece(bool is_last) {
  {
    const std::lock_guard lock(mutex_);
    if (!watch_.on_piece(is_last)) return;
  }
  hall_->loop.post([self = shared_from_this()] { self->look_later(); });
}

void ServerStream::look_later() {
  hall_->loop.after(limits::kRpcLookMs, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->closed_) self->look();
  });
}

/// Who does not read holds what is to be sent to it. One look after the other while there is much.
void ServerStream::watch_writing() {
  {
    const std::lock_guard lock(mutex_);
    if (!outbox_.has_much() || std::exchange(is_write_watched_, true)) return;
    frames_seen_ = outbox_.frames();
  }
  hall_->loop.after(limits::kRpcLookMs, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    bool goes_on = true;
    {
      const std::lock_guard lock(self->mutex_);
      self->is_write_watched_ = false;
      goes_on = !self->outbox_.has_much() || self->outbox_.frames() > self->frames_seen_;
    }
    if (goes_on) return self->watch_writing();
    self->end({grpc::StatusCode::DEADLINE_EXCEEDED, "what was sent was not read"}, false);
    self->abort();
  });
}

void ServerStream::look() {
  using Finding = PieceWatch::Finding;
  Finding finding = Finding::kOver;
  {
    const std::lock_guard lock(mutex_);
    finding = watch_.look();
  }
  if (finding == Finding::kGoesOn) look_later();
  if (finding == Finding::kTooSlow) {
    end({grpc::StatusCode::DEADLINE_EXCEEDED, "the message took too long to arrive"}, true);
  }
}

/// Each in a turn of its own, as if it had come alone.
void ServerStream::deliver_next(std::vector<ToGateway> messages, std::size_t next) {
  hall_->loop.post([self = shared_from_this(), messages = std::move(messages), next]() mutable {
    self->deliver(std::move(messages), next);
  });
}

void ServerStream::deliver(std::vector<ToGateway> messages, std::size_t next) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
  }
  hall_->port->on_message(id_, std::move(messages[next]));
  if (++next == messages.size()) return read_next();
  deliver_next(std::move(messages), next);
}

void ServerStream::send(ToProvider message) {
  if (std::holds_alternative<Welcome>(message) && !welcomed_.exchange(true)) {
    hall_->door->vouch(from_.connection);
  }
  if (std::holds_alternative<Offer>(message) || std::holds_alternative<Begin>(message) ||
      std::holds_alternative<Countersign>(message)) {
    was_asked_ = true;
  }
  Outgoing made = outgoing(message);
  bool fits = false, is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    if (const auto* gone = std::get_if<Withdraw>(&message)) outbox_.forget(gone->jobs);
    fits = outbox_.push(std::move(made));
    is_first = fits && !outbox_.writing() && !std::exchange(is_pump_due_, true);
  }
  if (is_first) hall_->loop.post([self = shared_from_this()] { self->pump(); });
  if (fits) return watch_writing();
  end({grpc::StatusCode::RESOURCE_EXHAUSTED, "more was to be said than the stream can hold"},
      false);
  abort();
}

void ServerStream::close() { end(grpc::Status::OK, true); }

void ServerStream::end(const grpc::Status& status, bool drain) {
  {
    const std::lock_guard lock(mutex_);
    if (!drain) outbox_.drop_waiting();
    if (!std::exchange(ended_, true)) status_ = status;
    pump_locked();
  }
  hall_->loop.post([self = shared_from_this()] { self->tell_closed(); });
}

void ServerStream::tell_closed() {
  if (!opened_ || std::exchange(closed_, true)) return;
  if (welcomed_) hall_->door->disown(from_.connection);
  std::erase(hall_->open, shared_from_this());
  hall_->port->on_close(id_);
  // Last words are worth waiting for, but not for a peer that does not read them.
  hall_->loop.after(kDrainMs, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->abort();
  });
}

void ServerStream::abort() {
  {
    const std::lock_guard lock(mutex_);
    if (finished_ || std::exchange(cancelling_, true)) return;
    ended_ = true;
    outbox_.drop_waiting();
  }
  // Not under the mutex: gRPC may react before it returns.
  context_->TryCancel();
  const std::lock_guard lock(mutex_);
  cancelling_ = false;
  pump_locked();
}

/// What the tasks before this one had to say goes together.
void ServerStream::pump() {
  const std::lock_guard lock(mutex_);
  is_pump_due_ = false;
  pump_locked();
}

void ServerStream::pump_locked() {
  if (finished_ || outbox_.writing()) return;
  if (!outbox_.empty()) {
    StartWrite(outbox_.begin_writing());
  } else if (ended_ && !cancelling_) {
    finished_ = true;
    Finish(status_);
  }
}

void ServerStream::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    outbox_.written();
    if (ok) return pump_locked();
  }
  end(grpc::Status::CANCELLED, false);
}

void ServerStream::OnCancel() { end(grpc::Status::CANCELLED, false); }

void ServerStream::OnDone() {
  std::shared_ptr<ServerStream> last;
  const std::lock_guard lock(mutex_);
  last = std::move(self_);
}

}  // namespace commensal::rpc
