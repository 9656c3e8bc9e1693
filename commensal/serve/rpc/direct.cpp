// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/serve/rpc/direct.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <commensal/serve/rpc/model_download.hpp>
#include <deque>
#include <mutex>
#include <utility>

namespace commensal::rpc {
namespace detail {

struct DirectPlace {
  explicit DirectPlace(core::Loop& its_loop) : loop(its_loop) {}

  core::Loop& loop;
  std::mutex port_mutex;  // fetch_model reads `port` off the loop
  GatewayPort* port = nullptr;
  std::vector<std::shared_ptr<DirectStream>> open;  // in the order of opening
};

/// One stream. Whatever travels in one direction waits in one queue, so that timers that fire out
/// of turn cannot change the order. The loop's tasks own the stream; what waits in it does not.
struct DirectStream : std::enable_shared_from_this<DirectStream> {
  using Word = std::function<void(DirectStream&)>;
  using Queue = std::deque<Word>;

  std::shared_ptr<DirectPlace> place;
  std::shared_ptr<ProviderPort> provider;  // empty: it hears no more
  DirectFaults faults;
  Channel channel;
  GatewayPort::StreamId id = 0;
  bool opened = false;
  bool ending = false;  // nobody sends any more
  bool closed = false;  // the gateway has heard on_close
  Queue up;
  Queue down;

  void travel(Queue& queue, Word word) {
    queue.push_back(std::move(word));
    auto arrive = [self = shared_from_this(), &queue] {
      if (queue.empty()) return;
      const Word next = std::move(queue.front());
      queue.pop_front();
      next(*self);
    };
    if (faults.delay_ms > 0) {
      place->loop.after(faults.delay_ms, std::move(arrive));
    } else {
      place->loop.post(std::move(arrive));
    }
  }
  bool dropped() const { return faults.drops_message && faults.drops_message(); }

  void open();
  void close_gateway();
  void close_provider(const std::string& reason);
  void break_off(const std::string& reason);
};

}  // namespace detail

namespace {

class GatewayEnd final : public ProviderStream {
 public:
  explicit GatewayEnd(std::shared_ptr<detail::DirectStream> stream) : stream_(std::move(stream)) {}

  void send(ToProvider message) override {
    if (stream_->ending || stream_->dropped()) return;
    stream_->travel(stream_->down, [frame = to_frame(message)](auto& stream) mutable {
      auto read = from_frame<ToProvider>(std::move(frame));
      if (!read) return stream.break_off(read.error().message);
      if (const auto provider = stream.provider) provider->on_message(*std::move(read));
    });
  }
  void close() override {
    if (std::exchange(stream_->ending, true)) return;
    stream_->place->loop.post([stream = stream_] { stream->close_gateway(); });
    stream_->travel(stream_->down, [](detail::DirectStream& stream) {
      stream.close_provider("the gateway closed the stream");
    });
  }

 private:
  std::shared_ptr<detail::DirectStream> stream_;
};

}  // namespace

void detail::DirectStream::open() {
  if (!provider) return;
  if (place->port == nullptr) return close_provider("no gateway listens");
  opened = true;
  place->open.push_back(shared_from_this());
  id = place->port->on_open(std::make_shared<GatewayEnd>(shared_from_this()), channel, "");
}

void detail::DirectStream::close_gateway() {
  ending = true;
  if (!opened || std::exchange(closed, true)) return;
  std::erase(place->open, shared_from_this());
  place->port->on_close(id);
}

void detail::DirectStream::close_provider(const std::string& reason) {
  ending = true;
  if (const auto heard = std::exchange(provider, nullptr)) {
    heard->on_close(core::Error{core::ErrorCode::kUnavailable, reason});
  }
}

/// Both ends hear of it as soon as the loop turns; what is on its way is lost.
void detail::DirectStream::break_off(const std::string& reason) {
  ending = true;
  up.clear();
  down.clear();
  place->loop.post([self = shared_from_this()] { self->close_gateway(); });
  place->loop.post([self = shared_from_this(), reason] { self->close_provider(reason); });
}

DirectServer::DirectServer(core::Loop& loop)
    : place_(std::make_shared<detail::DirectPlace>(loop)) {}

DirectServer::~DirectServer() { stop(); }

void DirectServer::listen(GatewayPort& port) {
  const std::lock_guard lock(place_->port_mutex);
  core::check(place_->port == nullptr, "a server listens for one gateway");
  place_->port = &port;
}

void DirectServer::stop() {
  const auto open = place_->open;
  for (const auto& stream : open) {
    stream->break_off("the gateway stopped");
    stream->close_gateway();
  }
  const std::lock_guard lock(place_->port_mutex);
  place_->port = nullptr;
}

DirectClient::DirectClient(DirectServer& server, DirectFaults faults, Channel channel)
    : place_(server.place_), faults_(std::move(faults)), channel_(channel) {}

DirectClient::~DirectClient() { drop(); }

void DirectClient::drop() {
  if (!stream_) return;
  stream_->provider.reset();
  stream_->travel(stream_->up, [](detail::DirectStream& stream) { stream.close_gateway(); });
  stream_.reset();
}

void DirectClient::attach(std::shared_ptr<ProviderPort> port) {
  drop();
  stream_ = std::make_shared<detail::DirectStream>();
  stream_->place = place_;
  stream_->provider = std::move(port);
  stream_->faults = faults_;
  stream_->channel = channel_;
  stream_->travel(stream_->up, [](detail::DirectStream& stream) { stream.open(); });
}

void DirectClient::send(ToGateway message) {
  if (!stream_ || stream_->ending || stream_->dropped()) return;
  stream_->travel(stream_->up, [frame = to_frame(message)](auto& stream) mutable {
    if (stream.ending) return;
    auto read = from_frame<ToGateway>(std::move(frame));
    if (!read) return stream.break_off(read.error().message);
    stream.place->port->on_message(stream.id, *std::move(read));
  });
}

void DirectClient::cut() {
  if (stream_) stream_->break_off("the connection was cut");
}

core::Result<void> DirectClient::fetch_model(const std::string& session_token,
                                             const core::Digest& model, const std::string& path,
                                             const Received& received) {
  core::Result<std::string> source =
      core::fail(core::ErrorCode::kUnavailable, "no gateway listens");
  {
    const std::lock_guard lock(place_->port_mutex);
    if (place_->port != nullptr) {
      source = place_->port->model_path(session_token, model, channel_.provider);
    }
  }
  if (!source) return tl::unexpected(source.error());
  const auto file = core::MappedFile::open(*source, limits::kModelBytesMax);
  if (!file) {
    return core::fail(core::ErrorCode::kDataLoss, "the model's file cannot be read");
  }
  ModelDownload download(path);
  COMMENSAL_TRY(download.append((*file)->bytes()));
  received(static_cast<std::int64_t>((*file)->bytes().size()));
  return download.finish(model);
}

}  // namespace commensal::rpc
