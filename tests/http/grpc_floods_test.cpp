// SPDX-License-Identifier: Apache-2.0
// Peers of the gRPC port who call more than anybody is asked about: HTTP/2 by hand (RFC 9113).
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <inference/grpc_service.grpc.pb.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/serve/oip_grpc/server.hpp>
#include <thread>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

class GrpcFloods : public ::testing::Test {
 protected:
  core::Descriptor dial(std::uint8_t from = 0) const { return tests::dial(server_->port(), from); }
  /// Calls, and leaves after so long.
  grpc::Status infer_for_ms(std::int64_t ms) const {
    inference::ModelInferRequest request;
    request.set_model_name("alice/digits");
    auto& input = *request.add_inputs();
    input.set_name("image");
    input.set_datatype("FP32");
    for (const int dim : {1, 1, 8, 8}) input.add_shape(dim);
    request.add_raw_input_contents(std::string(core::as_text(picture(1)[0].value.bytes())));
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + world_.alice);
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(ms, GPR_TIMESPAN)));
    inference::ModelInferResponse response;
    return inference::GRPCInferenceService::NewStub(
               grpc::CreateChannel(fmt::format("127.0.0.1:{}", server_->port()),
                                   grpc::InsecureChannelCredentials()))
        ->ModelInfer(&context, request, &response);
  }
  /// The first word of HTTP/2 is the server's.
  bool is_let_in() const {
    const core::Descriptor socket = dial();
    std::array<char, 64> heard{};
    pollfd one{socket.get(), POLLIN, 0};
    return ::poll(&one, 1, 10'000) == 1 && ::recv(socket.get(), heard.data(), heard.size(), 0) > 0;
  }

  World world_{"grpc", nullptr, {}};
  std::unique_ptr<oip_grpc::GrpcInferenceServer> server_ =
      *oip_grpc::GrpcInferenceServer::start(world_.services(), "127.0.0.1:0");
};

std::string frame(char kind, char flags, int stream, const std::string& content) {
  return std::string("\0", 1) + static_cast<char>(content.size() >> 8) +
         static_cast<char>(content.size()) + kind + flags + std::string("\0\0", 2) +
         static_cast<char>(stream >> 8) + static_cast<char>(stream) + content;
}

std::string literal(const std::string& name, const std::string& value) {
  return std::string("\0", 1) + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

/// Calls of which nothing but the head comes.
std::string calls_of(const std::string& method, const std::string& more, int count, bool resets) {
  const std::string path = "/inference.GRPCInferenceService/" + method;
  const std::string head = "\x83\x86\x04" + std::string(1, static_cast<char>(path.size())) + path +
                           "\x01\x01x\x0f\x10\x10" + "application/grpc" +
                           literal("te", "trailers") + more;
  std::string calls = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "");
  for (int i = 0; i < count; ++i) {
    calls += frame(1, 4, 2 * i + 1, head);
    if (resets) calls += frame(3, 0, 2 * i + 1, std::string("\0\0\0\x08", 4));
  }
  return calls;
}

// Many on a connection: all have come by the time the first is refused. Fewer than would
// be too many under way (kGrpcStrangerCallsMax).
TEST_F(GrpcFloods, StrangersThatAreRefusedWithoutEndAreKeptOut) {
  const std::string calls = calls_of("ServerLive", "", 30, false);
  std::vector<core::Descriptor> callers;
  for (; callers.size() < 60 && is_let_in(); callers.push_back(dial())) {
    if (!callers.empty()) ::send(callers.back().get(), calls.data(), calls.size(), MSG_NOSIGNAL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(callers.size(), 5U) << "who is refused now and then is let in";
  EXPECT_LT(callers.size(), 60U);
}

TEST_F(GrpcFloods, WhoTakesBackWithoutEndIsCutOff) {
  const std::string token = literal("authorization", "Bearer " + world_.alice);
  EXPECT_TRUE(ends(dial(), calls_of("ModelInfer", token, 10'000, true)));
}

// The fault: each address had its own bound, and an account has as many as it likes.
TEST_F(GrpcFloods, AnAccountTakesBackNoMoreFromManyAddresses) {
  const std::string token = literal("authorization", "Bearer " + world_.alice);
  constexpr int kOfOne = 200;
  static_assert(kOfOne < limits::kGrpcTakenBackAtOnce);
  const std::string calls = calls_of("ModelInfer", token, kOfOne, true);
  std::vector<core::Descriptor> callers;
  for (std::uint8_t from = 1; from <= 4; ++from) {
    callers.push_back(dial(from));
    ::send(callers.back().get(), calls.data(), calls.size(), MSG_NOSIGNAL);
  }
  EXPECT_TRUE(ends(dial(5), calls));
  EXPECT_TRUE(is_let_in()) << "who has come from elsewhere";
}

// The fault: it was offered to a provider all the same, which was then told to forget it.
TEST_F(GrpcFloods, WhatIsTakenBackBeforeItsTurnIsNoProvidersWork) {
  const auto jobs = std::make_shared<std::atomic<int>>(0);
  world_.job_ended = [jobs](const provider::JobEnd&) { ++*jobs; };
  world_.start_provider();
  world_.hold_loop();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(infer_for_ms(50).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the gateway has heard
  world_.free_loop();
  EXPECT_TRUE(infer_for_ms(20'000).ok());
  EXPECT_EQ(*jobs, 1);
}

// A few are nobody's fault, and those that a connection takes with it.
TEST_F(GrpcFloods, WhoLeavesWithMuchUnderWayMayComeAgain) {
  const std::string token = literal("authorization", "Bearer " + world_.alice);
  for (int i = 0; i < 40; ++i) {
    const std::string calls = calls_of("ModelInfer", token, 100, false);
    const core::Descriptor socket = dial();
    EXPECT_EQ(::send(socket.get(), calls.data(), calls.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(calls.size()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(is_let_in());
}

}  // namespace
}  // namespace commensal::tests
