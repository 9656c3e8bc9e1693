// SPDX-License-Identifier: Apache-2.0
// A model that computes for hours: who leaves, or ends a daemon, does not wait for it.
#include <arpa/inet.h>
#include <onnx/onnx_pb.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <commensal/base/core/clock.hpp>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

using ::onnx::TensorProto;

std::int64_t now_ms() { return core::SystemClock().monotonic_ns() / 1'000'000; }

void declare(::onnx::ValueInfoProto* info, const char* name, TensorProto::DataType type,
             const std::vector<std::int64_t>& dims) {
  info->set_name(name);
  info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const std::int64_t dim : dims) shape->add_dim()->set_dim_value(dim);
}

::onnx::NodeProto* add(::onnx::GraphProto& graph, const char* op,
                       const std::vector<const char*>& inputs, const char* output) {
  auto* node = graph.add_node();
  node->set_op_type(op);
  for (const char* name : inputs) node->add_input(name);
  node->add_output(output);
  return node;
}

/// y = x after so many products of 512 x 512 matrices, some milliseconds each.
core::Bytes looping_model(std::int64_t trips) {
  ::onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(13);
  auto& graph = *model.mutable_graph();
  graph.set_name("looping");
  declare(graph.add_input(), "x", TensorProto::FLOAT, {1});
  declare(graph.add_output(), "y", TensorProto::FLOAT, {1});
  auto* limit = graph.add_initializer();
  limit->set_name("trips");
  limit->set_data_type(TensorProto::INT64);
  limit->add_int64_data(trips);
  auto* matrix = graph.add_initializer();
  matrix->set_name("a");
  matrix->set_data_type(TensorProto::FLOAT);
  for (int i = 0; i < 2; ++i) matrix->add_dims(512);
  matrix->set_raw_data(std::string(512 * 512 * 4, '\0'));
  auto* attribute = add(graph, "Loop", {"trips", "", "x"}, "y")->add_attribute();
  attribute->set_name("body");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  auto& body = *attribute->mutable_g();
  body.set_name("body");
  declare(body.add_input(), "i", TensorProto::INT64, {});
  declare(body.add_input(), "goes_on", TensorProto::BOOL, {});
  declare(body.add_input(), "state", TensorProto::FLOAT, {1});
  auto* to = add(body, "Cast", {"i"}, "real")->add_attribute();
  to->set_name("to");
  to->set_type(::onnx::AttributeProto::INT);
  to->set_i(TensorProto::FLOAT);
  add(body, "Add", {"a", "real"}, "moved");
  add(body, "MatMul", {"moved", "a"}, "product");
  auto* keeps = add(body, "ReduceMax", {"product"}, "most")->add_attribute();
  keeps->set_name("keepdims");
  keeps->set_type(::onnx::AttributeProto::INT);
  keeps->set_i(0);
  add(body, "Add", {"state", "most"}, "next");
  add(body, "Identity", {"goes_on"}, "goes_on_too");
  declare(body.add_output(), "goes_on_too", TensorProto::BOOL, {});
  declare(body.add_output(), "next", TensorProto::FLOAT, {1});
  const std::string text = model.SerializeAsString();
  return {text.begin(), text.end()};
}

class Endless : public System {
 protected:
  void push_looping(client::Client& client, std::int64_t trips) {
    const core::Bytes model = looping_model(trips);
    client::PushRequest request;
    request.model = "operator/looping";
    request.bytes = model;
    const auto pushed = client.push(request);
    ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
  }
  /// Asks for it and returns the socket.
  int ask() {
    const core::Bytes token = *core::read_file(token_file_);
    std::string bearer(core::as_text(token));
    bearer.pop_back();
    const std::string body =
        R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})";
    const std::string request = fmt::format(
        "POST /v2/models/operator%2Flooping/infer HTTP/1.1\r\nHost: x\r\n"
        "Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{}",
        bearer, body.size(), body);
    const int made = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(http_port_)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(made, request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    return made;
  }
};

constexpr std::int64_t kHours = std::int64_t{1} << 23;

TEST_F(Endless, AConsumerThatLeavesFreesItsProvider) {
  start_gateway();
  auto client = connect();
  push(client);
  push_looping(client, kHours);
  const auto provider = start_provider("one");
  insist(client, 0);
  const int consumer = ask();
  pause_ms(1500);  // it is computed by now
  ::close(consumer);
  const std::int64_t begin_ms = now_ms();
  insist(client, 1);
  EXPECT_LT(now_ms() - begin_ms, 2'000);
}

TEST_F(Endless, AProviderEndsWhenItIsTold) {
  start_gateway();
  auto client = connect();
  push(client);
  push_looping(client, kHours);
  const auto provider = start_provider("one");
  insist(client, 0);
  const int consumer = ask();
  pause_ms(1500);
  const std::int64_t begin_ms = now_ms();
  provider->signal(SIGTERM);
  provider->wait();
  EXPECT_LT(now_ms() - begin_ms, 1'500);
  ::close(consumer);
}

TEST_F(Endless, AGatewayEndsInTheMidstOfAnAudit) {
  start_gateway({"--audit-probability", "1"});
  auto client = connect();
  push_looping(client, 600);  // some seconds, less than a provider may be silent
  const auto provider = start_provider("one");
  pause_ms(500);
  const int consumer = ask();
  char first = 0;
  ASSERT_EQ(::recv(consumer, &first, 1, 0), 1);  // answered: now it is audited
  pause_ms(300);
  const std::int64_t begin_ms = now_ms();
  gateway_->signal(SIGTERM);
  gateway_->wait();
  EXPECT_LT(now_ms() - begin_ms, 1'500);
  ::close(consumer);
}

}  // namespace
}  // namespace commensal::e2e
