// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <inference/grpc_service.grpc.pb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/lab/hostile/line.hpp>
#include <cstring>
#include <utility>

namespace commensal::lab::hostile {
namespace {

using core::ErrorCode;
using core::Result;

constexpr std::int64_t kPatienceMs = 120'000;     // as of client::ClientOptions
constexpr std::int64_t kFreshNs = 5'000'000'000;  // a gateway may end what was idle for longer
constexpr int kConnectMs = 3'000;

Result<core::Descriptor> dial(std::uint16_t port, const std::string& from) {
  core::Descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, from.c_str(), &address.sin_addr);
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  const int yes = 1;
  ::setsockopt(made.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  ::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (::bind(made.get(), at, sizeof address) != 0)
    return core::fail(ErrorCode::kUnavailable, "cannot come from {}", from);
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(made.get(), at, sizeof address);
  pollfd wait{made.get(), POLLOUT, 0};
  ::poll(&wait, 1, kConnectMs);
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0 && (wait.revents & POLLOUT) != 0) return made;
  return core::fail(ErrorCode::kUnavailable, "cannot connect to gRPC's port {}: {}", port,
                    error == 0 ? "it does not answer" : std::strerror(error));
}

inference::ModelInferRequest request_of(const std::string& model,
                                        const tensor::NamedTensors& inputs) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  for (const tensor::NamedTensor& one : inputs) {
    auto& input = *request.add_inputs();
    input.set_name(one.name);
    input.set_datatype("FP32");
    for (const std::int64_t dim : one.value.shape().dims()) input.add_shape(dim);
    request.add_raw_input_contents(std::string(core::as_text(one.value.bytes())));
  }
  return request;
}

Result<tensor::NamedTensors> outputs_of(const inference::ModelInferResponse& response) {
  tensor::NamedTensors outputs;
  for (int i = 0; i < response.outputs_size(); ++i) {
    const auto& output = response.outputs(i);
    const std::vector<std::int64_t> dims(output.shape().begin(), output.shape().end());
    const auto shape = tensor::Shape::of(dims);
    const bool is_there = i < response.raw_output_contents_size() && shape;
    const std::string raw = is_there ? response.raw_output_contents(i) : "";
    if (!is_there || output.datatype() != "FP32" ||
        std::cmp_not_equal(raw.size(), shape->elements() * 4)) {
      return core::fail(ErrorCode::kDataLoss, "the answer's output '{}' is none of float32",
                        output.name());
    }
    const tensor::TensorType type{tensor::DType::kFloat32, *shape};
    outputs.push_back({output.name(), tensor::Tensor::copy_of(type, core::as_bytes(raw))});
  }
  return outputs;
}

class GrpcLine final : public Line {
 public:
  GrpcLine(std::uint16_t port, const std::string& token, std::string from)
      : port_(port), authorization_("Bearer " + token), from_(std::move(from)) {}

  Result<void> connect() override {
    stub_.reset();
    COMMENSAL_ASSIGN(core::Descriptor made, dial(port_, from_));
    watched_ = core::Descriptor(::fcntl(made.get(), F_DUPFD_CLOEXEC, 0));
    stub_ = inference::GRPCInferenceService::NewStub(
        grpc::CreateInsecureChannelFromFd("gateway", made.release()));
    used_ns_ = clock_.monotonic_ns();
    return {};
  }
  bool is_connected() override {
    pollfd look{watched_.get(), POLLRDHUP, 0};
    return stub_ != nullptr && ::poll(&look, 1, 0) == 0;
  }
  Result<tensor::NamedTensors> infer(const std::string& model,
                                     const tensor::NamedTensors& inputs) override {
    const bool is_stale = clock_.monotonic_ns() - used_ns_ > kFreshNs;
    if (is_stale || !is_connected()) {
      COMMENSAL_TRY(connect());
    }
    inference::ModelInferResponse response;
    grpc::ClientContext context;
    context.AddMetadata("authorization", authorization_);
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(kPatienceMs, GPR_TIMESPAN)));
    const grpc::Status status = stub_->ModelInfer(&context, request_of(model, inputs), &response);
    used_ns_ = clock_.monotonic_ns();
    if (status.ok()) return outputs_of(response);
    stub_.reset();
    return core::fail(ErrorCode::kUnavailable, "gRPC {}: {}", static_cast<int>(status.error_code()),
                      status.error_message());
  }

 private:
  const core::SystemClock clock_{};
  const std::uint16_t port_;
  const std::string authorization_, from_;
  core::Descriptor watched_;  // the socket once more: that it has ended is seen there
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
  std::int64_t used_ns_ = 0;
};

}  // namespace

std::unique_ptr<Line> grpc_line(std::uint16_t port, const std::string& token,
                                const std::string& from) {
  return std::make_unique<GrpcLine>(port, token, from);
}

}  // namespace commensal::lab::hostile
