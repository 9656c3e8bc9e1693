// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/rpc/grpc_client_stream.hpp>
#include <commensal/serve/rpc/grpc_order.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <utility>

namespace commensal::rpc {

void StreamCount::add() {
  const std::lock_guard lock(mutex_);
  ++count_;
}

void StreamCount::remove() {
  const std::lock_guard lock(mutex_);
  --count_;
  changed_.notify_all();
}

void StreamCount::wait_for_none() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return count_ == 0; });
}

/// Messages of a frame on their way through the loop. The next is read when they have been
/// delivered, or never, where the loop destroyed them instead.
class ClientStream::Delivery {
 public:
  Delivery(std::shared_ptr<ClientStream> stream, std::vector<ToProvider> messages)
      : stream_(std::move(stream)), messages_(std::move(messages)) {}
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery() {
    if (!delivered_) stream_->end_delivery(false);
  }

  void deliver() {
    delivered_ = true;
    for (ToProvider& message : messages_) {
      if (const auto port = stream_->port_) port->on_message(std::move(message));
    }
    stream_->end_delivery(true);
  }

 private:
  std::shared_ptr<ClientStream> stream_;
  std::vector<ToProvider> messages_;
  bool delivered_ = false;
};

ClientStream::ClientStream(core::Loop& loop, std::string address, const tls::Identity* identity,
                           std::shared_ptr<StreamCount> count)
    : loop_(loop),
      address_(std::move(address)),
      count_(std::move(count)),
      stub_(wire::ProviderStream::NewStub(open_channel(address_, identity))) {
  if (identity != nullptr) channel_.provider = identity->current()->key_hash;
}

void ClientStream::begin(std::shared_ptr<ProviderPort> port) {
  port_ = std::move(port);
  count_->add();
  context_.AddMetadata(kBundles, kYes);
  stub_->async()->Attach(&context_, this);
  const std::lock_guard lock(mutex_);
  self_ = shared_from_this();
  AddHold();
  read_locked();
  StartCall();
}

void ClientStream::send(const ToGateway& message) {
  Outgoing made = outgoing(message);
  bool fits = false, is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    fits = outbox_.push(std::move(made));
    is_first = fits && !outbox_.writing() && !std::exchange(is_pump_due_, true);
  }
  if (is_first) loop_.post([self = shared_from_this()] { self->pump(); });
  if (fits) return;
  cancel(core::Error{core::ErrorCode::kResourceExhausted,
                     "more was to be said than the stream can hold"});
}

void ClientStream::drop() {
  port_.reset();
  cancel(std::nullopt);
}

void ClientStream::cancel(std::optional<core::Error> reason) {
  {
    const std::lock_guard lock(mutex_);
    if (is_pump_due_ && !ended_) pump_locked();
    if (!std::exchange(ended_, true)) reason_ = std::move(reason);
    outbox_.drop_waiting();
    if (turn_ == Turn::kDelivering) release_locked();
  }
  // Not under the mutex: gRPC may react before it returns.
  context_.TryCancel();
}

void ClientStream::read_locked() {
  hand_to_grpc(&incoming_);
  StartRead(&incoming_);
}

void ClientStream::OnReadInitialMetadataDone(bool ok) {
  if (!ok) return;
  const auto& said = context_.GetServerInitialMetadata();
  const auto found = said.find(kBundles);
  if (found == said.end() || found->second != kYes) return;
  const std::lock_guard lock(mutex_);
  outbox_.bundle();
}

void ClientStream::OnReadDone(bool ok) {
  take_from_grpc(&incoming_);
  if (ok && !std::exchange(met_, true)) channel_.gateway = peer_key_hash(*context_.auth_context());
  core::Result<std::vector<ToProvider>> messages =
      core::fail(core::ErrorCode::kUnavailable, "the stream ended");
  {
    const std::lock_guard lock(mutex_);
    if (ok && !ended_) {
      auto whole = assembly_.add(std::move(incoming_), limits::kRpcMessageBytesMax);
      if (whole && !*whole) return read_locked();
      if (whole) {
        messages = from_bundle<ToProvider>(*std::move(*whole));
      } else {
        messages = tl::unexpected(whole.error());
      }
    }
    if (messages) {
      turn_ = Turn::kDelivering;
    } else {
      if (ok && !std::exchange(ended_, true)) reason_ = messages.error();
      ended_ = true;
      outbox_.drop_waiting();
      release_locked();
    }
  }
  if (!messages) return ok ? context_.TryCancel() : void();
  auto delivery = std::make_shared<Delivery>(shared_from_this(), *std::move(messages));
  loop_.post([delivery = std::move(delivery)] { delivery->deliver(); });
}

void ClientStream::end_delivery(bool delivered) {
  if (!delivered) return cancel(std::nullopt);
  const std::lock_guard lock(mutex_);
  if (turn_ == Turn::kReleased) return;
  turn_ = Turn::kReading;
  read_locked();
}

/// What the tasks before this one had to say goes together.
void ClientStream::pump() {
  const std::lock_guard lock(mutex_);
  is_pump_due_ = false;
  if (!ended_) pump_locked();
}

void ClientStream::pump_locked() {
  if (!outbox_.writing() && !outbox_.empty()) StartWrite(outbox_.begin_writing());
}

void ClientStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  outbox_.written();
  if (!ok) {
    // The reading learns why.
    ended_ = true;
    outbox_.drop_waiting();
  }
  pump_locked();
}

void ClientStream::release_locked() {
  turn_ = Turn::kReleased;
  RemoveHold();
}

void ClientStream::OnDone(const grpc::Status& status) {
  std::shared_ptr<ClientStream> self;
  core::Error reason{core::ErrorCode::kUnavailable, "closed the stream"};
  if (!status.ok()) reason = from_status(status);
  {
    const std::lock_guard lock(mutex_);
    self = std::move(self_);
    if (reason_) reason = *reason_;
  }
  reason.message = protocol::one_line(fmt::format("gateway {}: {}", address_, reason.message));
  loop_.post([self, reason = std::move(reason)] {
    if (const auto port = std::exchange(self->port_, nullptr)) port->on_close(reason);
  });
  const auto count = count_;
  self.reset();
  count->remove();
}

}  // namespace commensal::rpc
