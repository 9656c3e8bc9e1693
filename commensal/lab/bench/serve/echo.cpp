// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <array>
#include <commensal/lab/bench/serve/echo.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

namespace commensal::lab::bench::serve {
namespace {

using grpc::ByteBuffer;

constexpr const char* kLinkMethod = "/echo.Echo/Link";
constexpr std::size_t kNumberBytes = sizeof(std::uint64_t);

/// A message behind the number of its call.
ByteBuffer numbered(std::uint64_t number, const ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  (void)message.Dump(&slices);
  slices.insert(slices.begin(), grpc::Slice(&number, kNumberBytes));
  return {slices.data(), slices.size()};
}

/// The number, and what is behind it.
std::pair<std::uint64_t, ByteBuffer> apart(const ByteBuffer& message) {
  grpc::Slice whole;
  (void)message.DumpToSingleSlice(&whole);
  std::uint64_t number = 0;
  std::memcpy(&number, whole.begin(), kNumberBytes);
  const grpc::Slice rest = whole.sub(kNumberBytes, whole.size());
  return {number, ByteBuffer(&rest, 1)};
}

/// Messages of one stream, one at a time. Thread-safety: any thread.
template <class Reactor>
class Outbox {
 public:
  explicit Outbox(Reactor& reactor) : reactor_(reactor) {}
  void send(ByteBuffer message) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(message));
    if (waiting_.size() == 1) reactor_.StartWrite(&waiting_.front());
  }
  void sent() {
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
    if (!waiting_.empty()) reactor_.StartWrite(&waiting_.front());
  }

 private:
  Reactor& reactor_;
  std::mutex mutex_;
  std::deque<ByteBuffer> waiting_;
};

class Link;
class Unary;

/// Thread-safety: any thread.
class Relay final : public grpc::CallbackGenericService {
 public:
  explicit Relay(int trips) : trips_(trips) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;
  void ask(Unary& call, const ByteBuffer& message);
  void answer(const ByteBuffer& message);
  void open(Link& link) {
    const std::lock_guard lock(mutex_);
    link_ = &link;
  }

 private:
  struct Asked {
    Unary* call = nullptr;
    int trips_left = 0;
  };
  const int trips_;
  std::mutex mutex_;
  std::map<std::uint64_t, Asked> calls_;
  std::uint64_t last_ = 0;
  Link* link_ = nullptr;
};

class Link final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Link(Relay& relay) : relay_(relay) {
    relay_.open(*this);
    StartRead(&incoming_);
  }
  Outbox<Link>& outbox() { return outbox_; }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    relay_.answer(incoming_);
    incoming_.Clear();
    StartRead(&incoming_);
  }
  void OnWriteDone(bool) override { outbox_.sent(); }
  void OnDone() override {}  // lives as long as the process

 private:
  Relay& relay_;
  ByteBuffer incoming_;
  Outbox<Link> outbox_{*this};
};

class Unary final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Unary(Relay& relay) : relay_(relay) { StartRead(&message_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    relay_.ask(*this, message_);
  }
  void finish(ByteBuffer answer) {
    message_ = std::move(answer);
    StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  Relay& relay_;
  ByteBuffer message_;
};

grpc::ServerGenericBidiReactor* Relay::CreateReactor(grpc::GenericCallbackServerContext* context) {
  if (context->method() == kLinkMethod) return new Link(*this);
  return new Unary(*this);
}

void Relay::ask(Unary& call, const ByteBuffer& message) {
  Link* link = nullptr;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++last_;
    calls_.emplace(number, Asked{&call, trips_});
    link = link_;
  }
  if (link != nullptr) link->outbox().send(numbered(number, message));
}

void Relay::answer(const ByteBuffer& message) {
  auto [number, answer] = apart(message);
  Unary* call = nullptr;
  Link* link = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(number);
    if (found == calls_.end()) return;
    link = link_;
    if (--found->second.trips_left == 0) {
      call = found->second.call;
      calls_.erase(found);
    }
  }
  call != nullptr ? call->finish(std::move(answer)) : link->outbox().send(message);
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

class Echo final : public grpc::ClientBidiReactor<ByteBuffer, ByteBuffer> {
 public:
  Echo(const std::string& address, std::size_t answer_bytes)
      : answer_(answer_bytes, 'e'), stub_(channel_to(address)) {
    stub_.PrepareBidiStreamingCall(&context_, kLinkMethod, grpc::StubOptions(), this);
    StartRead(&incoming_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    const auto [number, message] = apart(incoming_);
    const grpc::Slice slice(answer_);
    outbox_.send(numbered(number, ByteBuffer(&slice, 1)));
    incoming_.Clear();
    StartRead(&incoming_);
  }
  void OnWriteDone(bool) override { outbox_.sent(); }
  void OnDone(const grpc::Status&) override {}

 private:
  const std::string answer_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  ByteBuffer incoming_;
  Outbox<Echo> outbox_{*this};
};

}  // namespace

core::Result<void> relay(const Part::Side& side, int trips) {
  Relay service(trips);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterCallbackGenericService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return core::fail(core::ErrorCode::kUnavailable, "no port for the relay");
  side.say(fmt::format("127.0.0.1:{}", port));
  side.wait();
  return {};
}

core::Result<void> echo(const Part::Side& side, const std::string& relay_address,
                        std::size_t answer_bytes) {
  const Echo link(relay_address, answer_bytes);
  side.say("echo");
  side.wait();
  return {};
}

}  // namespace commensal::lab::bench::serve
