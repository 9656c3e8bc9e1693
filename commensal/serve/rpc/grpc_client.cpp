// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <commensal/base/core/network.hpp>
#include <commensal/serve/rpc/grpc_client.hpp>
#include <commensal/serve/rpc/grpc_client_stream.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <commensal/serve/rpc/model_download.hpp>

namespace commensal::rpc {
namespace {

class GrpcClient final : public GatewayClient {
 public:
  GrpcClient(core::Loop& loop, const std::string& addresses,
             std::shared_ptr<const tls::Identity> identity)
      : loop_(loop), addresses_(core::endpoints_of(addresses)), identity_(std::move(identity)) {}
  GrpcClient(const GrpcClient&) = delete;
  GrpcClient& operator=(const GrpcClient&) = delete;
  ~GrpcClient() override {
    if (stream_) stream_->drop();
    streams_->wait_for_none();
  }

  void attach(std::shared_ptr<ProviderPort> port) override {
    if (stream_) stream_->drop();
    at_ = stream_ ? (at_ + 1) % addresses_.size() : 0;
    stream_ = std::make_shared<ClientStream>(loop_, address(), identity_.get(), streams_);
    stream_->begin(std::move(port));
  }

  void send(ToGateway message) override {
    if (stream_) stream_->send(message);
  }

  Channel channel() const override { return stream_ ? stream_->channel() : Channel(); }

  core::Result<void> fetch_model(const std::string& session_token, const core::Digest& model,
                                 const std::string& path, const Received& received) override {
    const std::string from = address();
    const auto stub = wire::ProviderStream::NewStub(open_channel(from, identity_.get()));
    grpc::ClientContext context;
    wire::FetchModelRequest request;
    request.set_session_token(session_token);
    request.set_model(model.data(), model.size());
    const auto stream = stub->FetchModel(&context);
    stream->Write(request);
    stream->WritesDone();
    ModelDownload download(path);
    core::Result<void> stored;
    std::int64_t bytes = 0;
    for (wire::ModelChunk chunk; stored && stream->Read(&chunk);) {
      stored = download.append(core::as_bytes(chunk.data()));
      bytes += static_cast<std::int64_t>(chunk.data().size());
      received(bytes);
    }
    if (!stored) context.TryCancel();
    const grpc::Status status = stream->Finish();
    COMMENSAL_TRY(stored);
    if (!status.ok()) {
      return core::in_context(fmt::format("gateway {}", from), from_status(status));
    }
    return download.finish(model);
  }

 private:
  const std::string& address() const { return addresses_[at_]; }

  core::Loop& loop_;
  const std::vector<std::string> addresses_;
  std::atomic<std::size_t> at_ = 0;  // whose stream_ is
  const std::shared_ptr<const tls::Identity> identity_;
  const std::shared_ptr<StreamCount> streams_ = std::make_shared<StreamCount>();
  std::shared_ptr<ClientStream> stream_;
};

}  // namespace

std::unique_ptr<GatewayClient> make_grpc_client(core::Loop& loop, const std::string& address,
                                                std::shared_ptr<const tls::Identity> identity) {
  return std::make_unique<GrpcClient>(loop, address, std::move(identity));
}

}  // namespace commensal::rpc
