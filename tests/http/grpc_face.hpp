// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <inference/grpc_service.grpc.pb.h>

#include <commensal/base/core/descriptor.hpp>
#include <commensal/serve/oip_grpc/server.hpp>
#include <memory>
#include <string>
#include <thread>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using Stub = inference::GRPCInferenceService::Stub;

inline gpr_timespec in_ms(std::int64_t ms) {
  return gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(ms, GPR_TIMESPAN));
}

/// The gRPC face of a gateway with one provider, and gRPC's own client.
class GrpcFace : public ::testing::Test {
 protected:
  GrpcFace() { world_.start_provider(); }

  std::unique_ptr<Stub> connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return inference::GRPCInferenceService::NewStub(
        grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", server_->port()),
                                  grpc::InsecureChannelCredentials(), arguments));
  }
  static void authorize(grpc::ClientContext& context, const std::string& token) {
    context.AddMetadata("authorization", "Bearer " + token);
    context.set_deadline(in_ms(20'000));
  }
  static ModelInferRequest digit(std::uint64_t i) {
    ModelInferRequest request;
    request.set_model_name("alice/digits");
    request.set_id(std::to_string(i));
    auto& input = *request.add_inputs();
    input.set_name("image");
    input.set_datatype("FP32");
    for (const int dim : {1, 1, 8, 8}) input.add_shape(dim);
    request.add_raw_input_contents(std::string(core::as_text(picture(i)[0].value.bytes())));
    return request;
  }
  grpc::Status infer(const ModelInferRequest& request, ModelInferResponse& response,
                     const std::string& token) const {
    grpc::ClientContext context;
    authorize(context, token);
    return connect()->ModelInfer(&context, request, &response);
  }
  static constexpr std::int64_t kMemory = 64 << 20;  // a quarter of it for one account

  /// A TCP connection that speaks no gRPC, or ends before it does.
  core::Descriptor dial() const { return tests::dial(static_cast<std::uint16_t>(server_->port())); }
  /// A moment after the client has its answer.
  void expect_nothing_held() const {
    for (int tries = 0; world_.bytes_held() > 0 && tries < 500; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(world_.bytes_held(), 0);
  }
  void expect_serves() {
    ModelInferResponse response;
    const auto status = infer(digit(1), response, world_.alice);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  World world_{"grpc", nullptr, {.memory_bytes_max = kMemory}};
  std::unique_ptr<oip_grpc::GrpcInferenceServer> server_ =
      *oip_grpc::GrpcInferenceServer::start(world_.services(), "127.0.0.1:0");
};

}  // namespace commensal::tests
