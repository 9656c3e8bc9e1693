// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include <tests/http/grpc_face.hpp>

namespace commensal::tests {
namespace {

TEST_F(GrpcFace, AnswersWithReceipts) {
  ModelInferResponse response;
  const auto status = infer(digit(7), response, world_.alice);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.model_name(), "alice/digits");
  EXPECT_EQ(response.model_version(), "1");
  EXPECT_EQ(response.id(), "7");
  EXPECT_EQ(response.parameters().at("commensal_receipt").string_param().size(), 64u);
  EXPECT_EQ(response.parameters().at("commensal_provider").string_param(),
            crypto::to_text(world_.provider_address()));
  ASSERT_EQ(response.outputs_size(), 1);
  const auto same = world_.client(world_.alice).infer("alice/digits", 0, picture(7));
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(response.raw_output_contents(0), core::as_text(same->outputs.at(0).value.bytes()));
}

TEST_F(GrpcFace, AnswersHaveTheRequestsId) {
  const auto id_of = [&](const std::string& id, const std::string& token) {
    grpc::ClientContext context;
    authorize(context, token);
    if (!id.empty()) context.AddMetadata("x-request-id", id);
    ModelInferResponse response;
    (void)connect()->ModelInfer(&context, digit(1), &response);
    const auto found = context.GetServerInitialMetadata().find("x-request-id");
    if (found == context.GetServerInitialMetadata().end()) return std::string();
    return std::string(found->second.data(), found->second.size());
  };
  EXPECT_EQ(id_of("order-7", world_.alice), "order-7");
  EXPECT_EQ(id_of("order-7", "nobody's"), "order-7");
  EXPECT_EQ(id_of("a b", world_.alice).size(), 32u);
  EXPECT_NE(id_of("", world_.alice), id_of("", world_.alice));
}

TEST_F(GrpcFace, RefusesAPrivacyClassThatItDoesNotRead) {
  ModelInferRequest request = digit(1);
  (*request.mutable_parameters())["privacy-class"].set_string_param("medical");
  ModelInferResponse response;
  const auto status = infer(request, response, world_.alice);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(status.error_message().starts_with("'privacy-class' is not read here"))
      << status.error_message();
}

TEST_F(GrpcFace, SaysWhatIsWrong) {
  ModelInferResponse response;
  EXPECT_EQ(infer(digit(1), response, "nobody's").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  ModelInferRequest request = digit(1);
  request.set_model_version("wrong_specification");
  auto status = infer(request, response, world_.alice);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(status.error_message().starts_with(
      "failed to get model version from specified version string 'wrong_specification'"));
  request = digit(1);
  request.set_model_name("alice/unknown");
  status = infer(request, response, world_.alice);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(status.error_message().starts_with(
      "Request for unknown model: 'alice/unknown' is not found"));
  request = digit(1);
  request.add_outputs()->set_name("nothing");
  status = infer(request, response, world_.alice);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(status.error_message().starts_with("unknown output 'nothing'"));
  expect_nothing_held();
}

TEST_F(GrpcFace, ATokenIsGoodForItsScopes) {
  const auto made = [&](std::string_view terms) {
    const auto answer = world_.client(world_.alice)
                            .post("/v1/account/tokens", "application/json", core::as_bytes(terms));
    EXPECT_TRUE(answer) << answer.error().message;
    const std::string said = answer.value_or("");
    const std::size_t begin = said.rfind("\"token\":\"") + 9;
    return said.substr(begin, 64);
  };
  const std::string models = made(R"({"label":"models","scopes":["models"]})");
  const std::string infers = made(R"({"label":"infers","scopes":["infer"]})");
  ModelInferResponse response;
  const auto refused = infer(digit(1), response, models);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused.error_message(),
            "the token 'models' has not the scope 'infer', which this needs");
  EXPECT_TRUE(infer(digit(1), response, infers).ok());
  const auto unload = [&](const std::string& token) {
    grpc::ClientContext context;
    authorize(context, token);
    inference::RepositoryModelUnloadRequest request;
    request.set_model_name("alice/digits");
    inference::RepositoryModelUnloadResponse done;
    return connect()->RepositoryModelUnload(&context, request, &done).error_code();
  };
  EXPECT_EQ(unload(infers), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(unload(models), grpc::StatusCode::OK);
  EXPECT_EQ(unload(world_.root), grpc::StatusCode::OK);
  const auto log = world_.client(world_.root).get_json("/v1/audit-log");
  EXPECT_NE(log.value_or("").find("model.unload"), std::string::npos);
}

// REST has them in pages of 64 KiB; this protocol has no pages.
TEST_F(GrpcFace, ListsAllModels) {
  constexpr int kOfEach = 250;
  const core::Bytes model = digits_model();
  for (const auto& [name, token] :
       {std::pair("alice", world_.alice), {"bob", world_.bob}, {"root", world_.root}}) {
    client::Client client = world_.client(token);
    for (int i = 0; i < kOfEach; ++i) {
      client::PushRequest request;
      request.model = fmt::format("{}/{:x>60}", name, i);
      request.bytes = model;
      const auto pushed = client.push(request);
      ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
    }
  }
  for (const bool is_of_ready : {false, true}) {
    grpc::ClientContext context;
    authorize(context, world_.alice);
    inference::RepositoryIndexRequest request;
    request.set_ready(is_of_ready);
    inference::RepositoryIndexResponse response;
    const auto status = connect()->RepositoryIndex(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.models_size(), 3 * kOfEach + 1);
    EXPECT_GT(response.DebugString().size(), std::size_t{limits::kHttpListBytesMax});
    EXPECT_EQ(response.models(0).state(), "READY");
  }
  expect_nothing_held();
}

TEST_F(GrpcFace, TakesAndGivesCompressedMessages) {
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    authorize(context, world_.alice);
    context.set_compression_algorithm(algorithm);
    ModelInferRequest request = digit(3);
    request.set_id(std::string(20'000, 'i'));
    ModelInferResponse response;
    const auto status = connect()->ModelInfer(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.id(), request.id());
  }
}

// Zeros take a thousandth on the wire.
TEST_F(GrpcFace, CountsWhatCompressedMessagesBecome) {
  grpc::ClientContext context;
  authorize(context, world_.alice);
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  ModelInferRequest request = digit(3);
  request.set_raw_input_contents(0, std::string(kMemory, '\0'));
  ModelInferResponse response;
  const auto status = connect()->ModelInfer(&context, request, &response);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error_message(), "");
  expect_serves();
}

TEST_F(GrpcFace, AnswersAStreamInItsOrder) {
  grpc::ClientContext context;
  authorize(context, world_.alice);
  const auto stub = connect();
  const auto stream = stub->ModelStreamInfer(&context);
  constexpr int kRequests = 20;
  std::thread asks([&] {
    for (int i = 0; i < kRequests; ++i) {
      ModelInferRequest request = digit(i);
      if (i == 5) request.set_model_name("alice/unknown");
      if (i == 6)
        (*request.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
      stream->Write(request);
    }
    stream->WritesDone();
  });
  inference::ModelStreamInferResponse said;
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_TRUE(stream->Read(&said)) << i;
    EXPECT_EQ(said.infer_response().id(), std::to_string(i));
    EXPECT_EQ(said.error_message().empty(), i != 5) << said.error_message();
    EXPECT_EQ(said.infer_response().parameters().count("triton_final_response"), i == 6 ? 1 : 0);
  }
  EXPECT_FALSE(stream->Read(&said));
  asks.join();
  const auto status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  expect_nothing_held();
}

TEST_F(GrpcFace, WhoLeavesIsNotWaitedFor) {
  world_.hold_loop();
  grpc::ClientContext context;
  authorize(context, world_.alice);
  context.set_deadline(in_ms(200));
  ModelInferResponse response;
  EXPECT_EQ(connect()->ModelInfer(&context, digit(1), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  world_.free_loop();
  expect_serves();
}

TEST_F(GrpcFace, StopsWithCallsUnderWay) {
  grpc::ClientContext context;
  authorize(context, world_.alice);
  const auto stub = connect();
  const auto stream = stub->ModelStreamInfer(&context);
  stream->Write(digit(1));
  server_->stop();
  inference::ModelStreamInferResponse said;
  while (stream->Read(&said)) {
  }
  EXPECT_FALSE(stream->Finish().ok());
}

// What is under way is answered, and a stream's client hears then that it is to go elsewhere.
TEST_F(GrpcFace, FinishesWhatIsUnderWayWhenItDrains) {
  grpc::ClientContext context;
  authorize(context, world_.alice);
  const auto stub = connect();
  const auto stream = stub->ModelStreamInfer(&context);
  stream->Write(digit(1));
  inference::ModelStreamInferResponse said;
  ASSERT_TRUE(stream->Read(&said));
  world_.hold_loop();
  ModelInferResponse response;
  auto asked =
      std::async(std::launch::async, [&] { return infer(digit(2), response, world_.alice); });
  stream->Write(digit(3));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  auto drained = std::async(std::launch::async, [&] { server_->drain(20'000); });
  EXPECT_EQ(drained.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  world_.free_loop();
  EXPECT_TRUE(asked.get().ok());
  EXPECT_TRUE(stream->Read(&said)) << "it was asked before";
  EXPECT_FALSE(stream->Read(&said));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  drained.get();
  EXPECT_FALSE(infer(digit(4), response, world_.alice).ok());
}

// A stream that sends and never reads: a few requests are under way, the rest waits with it.
TEST_F(GrpcFace, AStreamThatNeverReadsHoldsLittle) {
  grpc::ClientContext context;
  authorize(context, world_.alice);
  const auto stub = connect();
  const auto stream = stub->ModelStreamInfer(&context);
  ModelInferRequest request = digit(1);
  request.set_id(std::string(100'000, 'i'));
  auto sent = std::async(std::launch::async, [&] {
    int count = 0;
    while (count < 2'000 && stream->Write(request)) ++count;
    return count;
  });
  EXPECT_EQ(sent.wait_for(std::chrono::seconds(2)), std::future_status::timeout);
  EXPECT_LT(world_.bytes_held(), 10 * 300'000);
  expect_serves();
  context.TryCancel();
  EXPECT_LT(sent.get(), 2'000);
  stream->Finish();
}

TEST_F(GrpcFace, GarbageEndsItsConnection) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  EXPECT_TRUE(ends(dial(), "GET /v2 HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(ends(dial(), preface + std::string(4'096, '\xff')));
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  std::string pings = preface + settings;
  for (int i = 0; i < 10'000; ++i) pings += std::string("\0\0\x08\6\0\0\0\0\0", 9) + "12345678";
  EXPECT_TRUE(ends(dial(), pings));
  expect_serves();
}

/// Messages that gRPC carries, and that are none of ours.
TEST_F(GrpcFace, BrokenMessagesAreRefused) {
  const auto channel = grpc::CreateChannel(fmt::format("127.0.0.1:{}", server_->port()),
                                           grpc::InsecureChannelCredentials());
  grpc::GenericStub stub(channel);
  for (const std::string& text : {std::string("\x2a\xff\xff\xff\xff\x0f"),
                                  std::string(1'000, '\xff'), std::string("\x1f\x8b"),
                                  std::string("\x0a\x05"
                                              "ab")}) {
    grpc::ClientContext context;
    authorize(context, world_.alice);
    const grpc::Slice slice(text);
    const grpc::ByteBuffer message(&slice, 1);
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareUnaryCall(&context, "/inference.GRPCInferenceService/ModelInfer",
                                            message, &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), "expected a message inference.ModelInferRequest");
  }
}

TEST_F(GrpcFace, StrangersMayAskLittle) {
  const auto stub = connect();
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    grpc::ClientContext context;
    inference::ServerLiveResponse response;
    const bool is_ok = stub->ServerLive(&context, {}, &response).ok();
    EXPECT_EQ(is_ok, response.live());
    refused += is_ok ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
  expect_serves();
}

}  // namespace
}  // namespace commensal::tests
