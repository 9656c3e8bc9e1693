// SPDX-License-Identifier: Apache-2.0
#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

/// Clients of Triton's, by its protocol: a program in another language, on a gateway that runs.
class GrpcSystem : public System {
 protected:
  static bool has_python() {
    int status = 0;
    run({"-c", "import grpc, google.protobuf, numpy, onnx"}, status, kPython);
    return status == 0;
  }
  void push_triton(client::Client& client, const std::string& name) {
    int status = 0;
    const std::string file = folder_.at(name + ".onnx");
    run({std::string(COMMENSAL_SOURCE_DIR) + "/models/triton/write_triton.py", file}, status,
        kPython);
    ASSERT_EQ(status, 0) << name;
    const core::Bytes model = *core::read_file(file);
    client::PushRequest request;
    request.model = "operator/" + name;
    request.bytes = model;
    const auto pushed = client.push(request);
    ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
    ASSERT_TRUE(client.set_alias(name, request.model));
    const bool is_sequence = name == "simple_sequence";
    const auto set = client.configure(request.model, 0, is_sequence ? kSequence : kBatched, {});
    ASSERT_TRUE(set.has_value()) << set.error().message;
  }

  static constexpr const char* kBatched = "max_batch_size: 8";
  static constexpr const char* kSequence = R"(
    max_batch_size: 8
    sequence_batching {
      control_input { name: "START"
                      control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }
      control_input { name: "READY"
                      control { kind: CONTROL_SEQUENCE_READY int32_false_true: [0, 1] } }
    })";
  static constexpr const char* kPython = "/usr/bin/python3";
};

TEST_F(GrpcSystem, ServesClientsOfTriton) {
  if (!has_python()) GTEST_SKIP() << "needs python3-grpcio, python3-protobuf, python3-onnx";
  start_gateway({"--grpc", "127.0.0.1:0", "--server-name", "triton", "--shared-memory"});
  const auto provider = start_provider("p1");
  client::Client client = connect();
  for (const char* name : {"simple", "simple_int8", "simple_sequence"}) push_triton(client, name);
  for (int tries = 0; tries < 200 && !client.ready(); ++tries) pause_ms(50);

  const std::string stubs = folder_.at("stubs"), source = COMMENSAL_SOURCE_DIR;
  std::filesystem::create_directories(stubs);
  int status = 0;
  run({"--proto_path=" + source + "/proto", "--python_out=" + stubs, "--grpc_python_out=" + stubs,
       "--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin",
       "inference/model_config.proto", "inference/grpc_service.proto"},
      status, "/usr/bin/protoc");
  ASSERT_EQ(status, 0);
  std::string token(core::as_text(*core::read_file(token_file_)));
  token.pop_back();
  const std::string said = run(
      {source + "/tests/serving/grpc_twin.py", stubs, grpc_, token, "operator"}, status, kPython);
  EXPECT_EQ(status, 0) << said;
  EXPECT_NE(said.find("model_control: passed"), std::string::npos) << said;
}

}  // namespace
}  // namespace commensal::e2e
