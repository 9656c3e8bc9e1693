// SPDX-License-Identifier: Apache-2.0
#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

constexpr const char* kBatched = "max_batch_size: 8";
constexpr const char* kSequence = R"(
  max_batch_size: 8
  sequence_batching {
    control_input { name: "START"
                    control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }
    control_input { name: "READY"
                    control { kind: CONTROL_SEQUENCE_READY int32_false_true: [0, 1] } }
  })";
constexpr const char* kPicture = R"(
  input { name: "data_0" format: FORMAT_NCHW dims: [3, 224, 224]
          reshape { shape: [1, 3, 224, 224] } }
  output { name: "fc6_1" dims: [1000] reshape { shape: [1, 1000, 1, 1] }
           label_filename: "densenet_labels.txt" })";

struct TritonModel {
  const char* name;
  const char* config;
};
constexpr TritonModel kModels[] = {
    {"simple", kBatched},          {"simple_int8", kBatched},     {"simple_string", kBatched},
    {"simple_identity", kBatched}, {"custom_identity_int32", ""}, {"simple_sequence", kSequence},
    {"densenet_onnx", kPicture},
};

/// Clients of Triton's, by its protocols: programs in another language, on a gateway that runs.
class TritonSystem : public System {
 protected:
  static bool has_python(const std::string& modules) {
    int status = 0;
    run({"-c", "import numpy, onnx, " + modules}, status, kPython);
    return status == 0;
  }
  void push_triton(client::Client& client, const TritonModel& one) {
    const std::string name = one.name;
    const core::Bytes model = *core::read_file(folder_.at(name + ".onnx"));
    client::PushRequest request;
    request.model = "operator/" + name;
    request.bytes = model;
    const auto pushed = client.push(request);
    ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
    ASSERT_TRUE(client.set_alias(name, request.model));
    std::string labels;
    for (int i = 0; i < 1000; ++i) labels += fmt::format("class {}\n", i);
    const auto set =
        client.configure(request.model, 0, one.config, {{"densenet_labels.txt", labels}});
    ASSERT_TRUE(set.has_value()) << set.error().message;
  }
  /// With a provider and all the models.
  void start_triton() {
    start_gateway({"--grpc", "127.0.0.1:0", "--server-name", "triton", "--shared-memory"});
    provider_ = start_provider("p1");
    client::Client client = connect();
    int status = 0;
    const std::string source = COMMENSAL_SOURCE_DIR;
    run({source + "/models/triton/write_triton.py", "--all", folder_.at("")}, status, kPython);
    ASSERT_EQ(status, 0);
    for (const TritonModel& one : kModels) push_triton(client, one);
    for (int tries = 0; tries < 200 && !client.ready(); ++tries) pause_ms(50);
  }
  std::string token() const {
    std::string text(core::as_text(*core::read_file(token_file_)));
    text.pop_back();
    return text;
  }
  void expect_passes(const std::vector<std::string>& command) {
    int status = 0;
    const std::string said = run(command, status, kPython);
    EXPECT_EQ(status, 0) << said;
    EXPECT_NE(said.find("model_control: passed"), std::string::npos) << said;
  }

  static constexpr const char* kPython = "/usr/bin/python3";
  const std::string twins_ = std::string(COMMENSAL_SOURCE_DIR) + "/tests/serving/";
  std::unique_ptr<Process> provider_;
};

TEST_F(TritonSystem, ServesClientsOverGrpc) {
  if (!has_python("grpc, google.protobuf")) GTEST_SKIP() << "needs python3-grpcio, python3-onnx";
  start_triton();
  const std::string stubs = folder_.at("stubs"), source = COMMENSAL_SOURCE_DIR;
  std::filesystem::create_directories(stubs);
  int status = 0;
  run({"--proto_path=" + source + "/proto", "--python_out=" + stubs, "--grpc_python_out=" + stubs,
       "--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin",
       "inference/model_config.proto", "inference/grpc_service.proto"},
      status, "/usr/bin/protoc");
  ASSERT_EQ(status, 0);
  expect_passes({twins_ + "grpc_twin.py", stubs, grpc_, token(), "operator"});
}

TEST_F(TritonSystem, ServesClientsOverHttp) {
  if (!has_python("aiohttp")) GTEST_SKIP() << "needs python3-aiohttp, python3-onnx";
  start_triton();
  expect_passes({twins_ + "http_twin.py", url(), token()});
}

}  // namespace
}  // namespace commensal::e2e
