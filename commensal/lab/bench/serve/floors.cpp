// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <inference/grpc_service.pb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <commensal/compute/session.hpp>
#include <commensal/lab/bench/serve/floors.hpp>
#include <filesystem>
#include <mutex>
#include <vector>

namespace commensal::lab::bench::serve {
namespace {

using core::ErrorCode;
using core::Result;

/// A network that is ready, and what it declares.
struct Ready {
  compute::Model model;
  compute::Session session;
  static Result<Ready> load(const core::Path& file) {
    auto model = compute::Model::load(file.string());
    if (!model) return core::fail(ErrorCode::kInvalidArgument, "{}", model.error().message);
    auto session = compute::Session::create(*model);
    if (!session) return core::fail(ErrorCode::kInvalidArgument, "{}", session.error().message);
    return Ready{*std::move(model), *std::move(session)};
  }
};

std::int64_t bytes_of(const compute::TensorView& view) {
  auto bytes = static_cast<std::int64_t>(compute::size_of(view.dtype));
  for (const std::int64_t dim : view.shape) bytes *= dim;
  return bytes;
}

class DirectLoad final : public Load {
 public:
  DirectLoad(Ready ready, const core::Clock& clock) : ready_(std::move(ready)), clock_(clock) {
    for (const compute::Port& port : ready_.model.inputs()) {
      compute::TensorView view{port.dtype, port.shape.value_or(std::vector<std::int64_t>()), {}};
      for (std::int64_t& dim : view.shape) dim = std::max<std::int64_t>(dim, 1);
      zeros_.emplace_back(static_cast<std::size_t>(bytes_of(view)));
      view.bytes = zeros_.back();
      inputs_.push_back(std::move(view));
    }
  }
  Result<Loaded> run(std::size_t, std::int64_t ms) override {
    std::vector<std::int64_t> took_ns;
    const std::int64_t begin_ns = clock_.monotonic_ns();
    std::int64_t now_ns = begin_ns;
    while (now_ns < begin_ns + ms * 1'000'000) {
      const auto outputs = ready_.session.run(inputs_);
      if (!outputs) return core::fail(ErrorCode::kInternal, "{}", outputs.error().message);
      const std::int64_t end_ns = clock_.monotonic_ns();
      took_ns.push_back(end_ns - std::exchange(now_ns, end_ns));
    }
    return loaded_of(std::move(took_ns), static_cast<double>(now_ns - begin_ns) * 1e-9, 0);
  }

 private:
  Ready ready_;
  const core::Clock& clock_;
  std::vector<std::vector<std::byte>> zeros_;
  std::vector<compute::TensorView> inputs_;
};

/// Thread-safety: any thread.
class Whole {
 public:
  explicit Whole(Ready ready) : ready_(std::move(ready)) {}

  Result<inference::ModelInferResponse> answer(const inference::ModelInferRequest& request) {
    std::vector<compute::TensorView> inputs;
    for (const compute::Port& port : ready_.model.inputs()) {
      for (int i = 0; i < std::min(request.inputs_size(), request.raw_input_contents_size()); ++i) {
        const auto& input = request.inputs(i);
        if (input.name() != port.name) continue;
        inputs.push_back({port.dtype,
                          {input.shape().begin(), input.shape().end()},
                          std::as_bytes(std::span(request.raw_input_contents(i)))});
      }
    }
    const std::lock_guard lock(mutex_);
    const auto outputs = ready_.session.run(inputs);
    if (!outputs) return core::fail(ErrorCode::kInvalidArgument, "{}", outputs.error().message);
    inference::ModelInferResponse response;
    response.set_model_name(request.model_name());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const compute::Tensor& value = (*outputs)[i];
      auto& output = *response.add_outputs();
      output.set_name(ready_.model.outputs()[i].name);
      output.set_datatype("INT32");
      for (const std::int64_t dim : value.shape()) output.add_shape(dim);
      response.add_raw_output_contents(value.bytes().data(), value.bytes().size());
    }
    return response;
  }

 private:
  std::mutex mutex_;  // guards the session
  Ready ready_;
};

class Unary final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Unary(Whole& whole) : whole_(whole) { StartRead(&message_); }
  void OnReadDone(bool ok) override {
    inference::ModelInferRequest request;
    using Requests = grpc::SerializationTraits<inference::ModelInferRequest>;
    if (!ok || !Requests::Deserialize(&message_, &request).ok())
      return Finish(grpc::Status::CANCELLED);
    const auto response = whole_.answer(request);
    if (!response) return Finish({grpc::StatusCode::INVALID_ARGUMENT, response.error().message});
    bool is_own = false;
    using Responses = grpc::SerializationTraits<inference::ModelInferResponse>;
    if (!Responses::Serialize(*response, &message_, &is_own).ok())
      return Finish(grpc::Status::CANCELLED);
    StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  Whole& whole_;
  grpc::ByteBuffer message_;
};

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(Whole& whole) : whole_(whole) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Unary(whole_);
  }

 private:
  Whole& whole_;
};

/// That nobody has just now.
Result<int> free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  const bool is_made =
      ::bind(socket, address, size) == 0 && ::getsockname(socket, address, &size) == 0;
  ::close(socket);
  if (!is_made) return core::fail(ErrorCode::kUnavailable, "no free port");
  return ntohs(at.sin_port);
}

}  // namespace

Result<std::unique_ptr<Load>> direct_load(const core::Path& model, const core::Clock& clock) {
  COMMENSAL_ASSIGN(Ready ready, Ready::load(model));
  return std::make_unique<DirectLoad>(std::move(ready), clock);
}

Result<void> one_process(const Part::Side& side, const core::Path& model) {
  COMMENSAL_ASSIGN(Ready ready, Ready::load(model));
  Whole whole(std::move(ready));
  Service service(whole);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return core::fail(ErrorCode::kUnavailable, "no port");
  side.say(fmt::format("127.0.0.1:{}", port));
  side.wait();
  return {};
}

Result<void> nginx(const Part::Side& side, const core::Path& below, std::size_t answer_bytes) {
  const core::Path folder = std::filesystem::absolute(below);
  constexpr const char* kProgram = "/usr/sbin/nginx";
  if (::access(kProgram, X_OK) != 0)
    return core::fail(ErrorCode::kUnavailable, "{} is not installed", kProgram);
  COMMENSAL_ASSIGN(const int port, free_port());
  const std::string text = fmt::format(
      "daemon off; master_process off; pid {0}/nginx.pid; error_log stderr crit;\n"
      "events {{ worker_connections 1024; }}\n"
      "http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {0};\n"
      "  proxy_temp_path {0}; fastcgi_temp_path {0}; uwsgi_temp_path {0}; scgi_temp_path {0};\n"
      "  server {{ listen 127.0.0.1:{1}; location / {{ return 200 \"{2}\"; }} }} }}\n",
      folder.string(), port, std::string(answer_bytes, 'n'));
  const std::string file = (folder / "nginx.conf").string();
  COMMENSAL_TRY(core::write_file_atomically(file, core::as_bytes(text)));
  side.say(fmt::format("127.0.0.1:{}", port));
  ::execl(kProgram, kProgram, "-p", folder.c_str(), "-c", file.c_str(), nullptr);
  return core::fail(ErrorCode::kUnavailable, "{} does not start", kProgram);
}

}  // namespace commensal::lab::bench::serve
