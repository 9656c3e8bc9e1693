// SPDX-License-Identifier: Apache-2.0
// What may come to the gRPC face, and how often.
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/core/temporary_folder.hpp>

#include <tests/http/grpc_face.hpp>

namespace commensal::tests {
namespace {

TEST_F(GrpcFace, SaysHowMuchMayCome) {
  grpc::ClientContext context;
  authorize(context, world_.alice);
  for (int i = 0; i < 3; ++i) context.AddMetadata("x", std::string(30'000, 'x'));
  ModelInferResponse response;
  const auto long_head = connect()->ModelInfer(&context, digit(1), &response);
  EXPECT_EQ(long_head.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ModelInferRequest request = digit(1);
  request.set_raw_input_contents(0, std::string(kMemory / 2, 'x'));
  const auto large = infer(request, response, world_.alice);
  EXPECT_EQ(large.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_NE(large.error_message(), "");
  expect_nothing_held();
  expect_serves();
}

// The fault: a request counted as under way until whoever had answered it had let go of it.
TEST_F(GrpcFace, WhoHasAsManyRequestsAsItMayIsAnsweredOneAfterAnother) {
  core::MemoryBudget& budget = world_.services().gateway.quotas().memory();
  std::vector<core::MemoryBudget::Lease> others;
  for (int i = 1; i < budget.bounds().owner_leases_max; ++i)
    others.push_back(*budget.lease("alice"));
  const auto stub = connect();
  for (std::uint64_t i = 0; i < 500; ++i) {
    grpc::ClientContext context;
    authorize(context, world_.alice);
    ModelInferResponse response;
    const auto status = stub->ModelInfer(&context, digit(i), &response);
    ASSERT_TRUE(status.ok()) << i << ": " << status.error_message();
  }
}

TEST_F(GrpcFace, SpeaksTls) {
  const core::Path folder = core::make_temporary_folder("grpc-tls").value();
  const std::string hosts[] = {"127.0.0.1"};
  const auto identity = tls::Identity::open_or_make(folder, hosts, 1'790'000'000'000).value();
  const auto server =
      *oip_grpc::GrpcInferenceServer::start(world_.services(), "127.0.0.1:0", identity);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = identity->current()->pem.certificate;
  const auto stub = inference::GRPCInferenceService::NewStub(grpc::CreateChannel(
      fmt::format("127.0.0.1:{}", server->port()), grpc::SslCredentials(options)));
  for (const std::uint64_t i : {1, 2}) {
    grpc::ClientContext context;
    authorize(context, world_.alice);
    ModelInferRequest request = digit(i);
    request.set_id(std::string(300'000, 'i'));
    ModelInferResponse response;
    const auto status = stub->ModelInfer(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.id().size(), request.id().size());
  }
}

// Whoever asks in vain as fast as it can is told so now and then. The fault: on a machine on which
// as many refusals take two seconds, this passed without a brake.
TEST_F(GrpcFace, RefusesNoFasterThanItLikes) {
  constexpr std::int64_t kBrakeNs = limits::kGrpcRefusalPauseMs * 1'000'000;
  constexpr std::int64_t kNearlyNs = kBrakeNs / 20 * 19;
  grpc::ClientContext context;
  authorize(context, world_.alice);
  const auto stub = connect();
  const auto stream = stub->ModelStreamInfer(&context);
  ModelInferRequest wrong = digit(1);
  wrong.set_model_name("alice/unknown");
  const core::SystemClock clock;
  inference::ModelStreamInferResponse said;
  const auto refusal_ns = [&] {
    const std::int64_t begun_ns = clock.monotonic_ns();
    EXPECT_TRUE(stream->Write(wrong));
    EXPECT_TRUE(stream->Read(&said));
    return clock.monotonic_ns() - begun_ns;
  };
  std::int64_t first_ns = 0;
  for (int i = 0; i < static_cast<int>(limits::kGrpcRefusedAtOnce); ++i) first_ns += refusal_ns();
  // With a brake on each it would be 32 times as long.
  EXPECT_LT(first_ns, 16 * kBrakeNs);
  // Some a second more are told at once: on a slow machine many.
  std::int64_t longest_ns = 0;
  for (int i = 0; i < 4'000 && longest_ns < kNearlyNs; ++i)
    longest_ns = std::max(longest_ns, refusal_ns());
  EXPECT_GE(longest_ns, kNearlyNs);
  context.TryCancel();
  stream->Finish();
  expect_serves();
}

}  // namespace
}  // namespace commensal::tests
