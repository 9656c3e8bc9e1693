// SPDX-License-Identifier: Apache-2.0
// Models that are hard to read, to keep or to run.
#include <onnx/onnx_pb.h>

#include <commensal/lab/hostile/attacker.hpp>
#include <commensal/serve/client/client.hpp>

namespace commensal::lab::hostile {
namespace {

constexpr std::int64_t kWaitMs = 1'000;  // then it leaves

/// A model of one operator, float32 in and out unless changed.
class OneNode {
 public:
  explicit OneNode(const std::string& op) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(15);
    graph().set_name("g");
    auto& node = *graph().add_node();
    node.set_op_type(op);
    node.add_input("x");
    node.add_output("y");
    input("x", onnx::TensorProto::FLOAT, {-1});
    declare(*graph().add_output(), "y", onnx::TensorProto::FLOAT, {});
  }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  onnx::NodeProto& node() { return *graph().mutable_node(0); }
  void input(const std::string& name, int type, const std::vector<std::int64_t>& dims) {
    declare(*graph().add_input(), name, type, dims);
  }
  static void declare(onnx::ValueInfoProto& info, const std::string& name, int type,
                      const std::vector<std::int64_t>& dims, const std::string& symbol = "n") {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    if (dims.empty()) return;
    for (const std::int64_t dim : dims) {
      auto& made = *tensor.mutable_shape()->add_dim();
      if (dim < 0)
        made.set_dim_param(symbol);
      else
        made.set_dim_value(dim);
    }
  }
  core::Bytes bytes() const {
    const std::string text = model_.SerializeAsString();
    const core::ByteView view = core::as_bytes(text);
    return {view.begin(), view.end()};
  }

 private:
  onnx::ModelProto model_;
};

/// `steps` products of square matrices.
core::Bytes endless_model() {
  OneNode model("Loop");
  auto& graph = model.graph();
  graph.mutable_input(0)->Clear();
  OneNode::declare(*graph.mutable_input(0), "x", onnx::TensorProto::FLOAT, {256, 256});
  auto& steps = *graph.add_initializer();
  steps.set_name("steps");
  steps.set_data_type(onnx::TensorProto::INT64);
  steps.add_int64_data(1 << 24);
  auto& node = model.node();
  node.clear_input();
  for (const char* input : {"steps", "", "x"}) node.add_input(input);
  auto& body = *node.add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& inner = *body.mutable_g();
  inner.set_name("body");
  OneNode::declare(*inner.add_input(), "i", onnx::TensorProto::INT64, {});
  OneNode::declare(*inner.add_input(), "go", onnx::TensorProto::BOOL, {});
  OneNode::declare(*inner.add_input(), "a", onnx::TensorProto::FLOAT, {256, 256});
  auto& same = *inner.add_node();
  same.set_op_type("Identity");
  same.add_input("go");
  same.add_output("go_on");
  auto& product = *inner.add_node();
  product.set_op_type("MatMul");
  product.add_input("a");
  product.add_input("a");
  product.add_output("b");
  OneNode::declare(*inner.add_output(), "go_on", onnx::TensorProto::BOOL, {});
  OneNode::declare(*inner.add_output(), "b", onnx::TensorProto::FLOAT, {256, 256});
  return model.bytes();
}

/// As many zeros as its input says.
core::Bytes hungry_model() {
  OneNode model("ConstantOfShape");
  model.graph().mutable_input(0)->Clear();
  OneNode::declare(*model.graph().mutable_input(0), "x", onnx::TensorProto::INT64, {1});
  return model.bytes();
}

class ModelAttacker : public Attacker {
 public:
  ModelAttacker(const Target& target, core::Rng& rng) : target_(target), rng_(rng) { connect(); }

 protected:
  void connect() {
    auto made =
        client::Client::create({.url = fmt::format("http://127.0.0.1:{}", target_.http_port),
                                .token = target_.token,
                                .wait_ms = kWaitMs});
    if (made) client_.emplace(*std::move(made));
  }
  void push(const std::string& name, core::ByteView bytes) {
    std::ignore = client_->push({.model = "mallory/" + name,
                                 .bytes = bytes,
                                 .is_private = false,
                                 .allowed_providers = {},
                                 .progress = {}});
  }
  /// Leaves before the answer where that takes its time.
  void ask(const std::string& name, const tensor::Tensor& x) {
    if (!client_->infer("mallory/" + name, 0, {{"x", x}})) connect();
  }
  const Target target_;
  core::Rng& rng_;
  std::optional<client::Client> client_;
};

/// The honest model, with errors in it.
class BrokenModels final : public ModelAttacker {
 public:
  BrokenModels(const Target& target, core::Rng& rng) : ModelAttacker(target, rng) {
    if (auto bytes = client_->model_content(target.model)) honest_ = *std::move(bytes);
  }
  void act() override {
    core::Bytes bytes = honest_;
    if (bytes.empty()) return;
    for (int i = 0; i < 8; ++i)
      bytes[rng_.next_u64() % bytes.size()] ^= 1U << (rng_.next_u64() % 8);
    if (rng_.next_u64() % 4 == 0) bytes.resize(rng_.next_u64() % bytes.size());
    push("broken", bytes);
  }

 private:
  core::Bytes honest_;
};

class ManyModels final : public ModelAttacker {
 public:
  ManyModels(const Target& target, core::Rng& rng) : ModelAttacker(target, rng) {
    if (auto bytes = client_->model_content(target.model)) honest_ = *std::move(bytes);
  }
  void act() override { push("m" + std::to_string(++count_), honest_); }

 private:
  core::Bytes honest_;
  std::uint64_t count_ = 0;
};

class WideModels final : public ModelAttacker {
 public:
  WideModels(const Target& target, core::Rng& rng) : ModelAttacker(target, rng) {
    OneNode many("Relu");
    for (int i = 0; i < 70'000; ++i) {
      many.input(fmt::format("i{}", i), onnx::TensorProto::FLOAT, {});
    }
    OneNode named("Relu");
    for (int i = 0; i < 500; ++i) {
      named.graph().add_input();
      OneNode::declare(*named.graph().mutable_input(i + 1), fmt::format("i{}", i),
                       onnx::TensorProto::FLOAT, std::vector<std::int64_t>(16, -1),
                       std::string(4'000, 'n'));
    }
    OneNode outside("Add");
    outside.node().add_input("w");
    auto& weight = *outside.graph().add_initializer();
    weight.set_name("w");
    weight.set_data_type(onnx::TensorProto::FLOAT);
    weight.add_dims(4);
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    auto& where = *weight.add_external_data();
    where.set_key("location");
    where.set_value("../../../../etc/passwd");
    OneNode huge("Add");
    huge.node().add_input("w");
    auto& claimed = *huge.graph().add_initializer();
    claimed.set_name("w");
    claimed.set_data_type(onnx::TensorProto::FLOAT);
    claimed.add_dims(std::int64_t{1} << 39);
    for (const OneNode* one : {&many, &named, &outside, &huge}) models_.push_back(one->bytes());
  }
  void act() override { push("wide", models_[next_++ % models_.size()]); }

 private:
  std::vector<core::Bytes> models_;
  std::size_t next_ = 0;
};

class Endless final : public ModelAttacker {
 public:
  Endless(const Target& target, core::Rng& rng) : ModelAttacker(target, rng) {
    push("endless", endless_model());
  }
  void act() override {
    ask("endless", tensor::Tensor::of<float>({256, 256}, std::vector<float>(256 * 256, 1e-3F)));
  }
};

/// Rollouts of a million steps; what goes in comes out again.
class Rollouts final : public ModelAttacker {
 public:
  Rollouts(const Target& target, core::Rng& rng) : ModelAttacker(target, rng) {
    push("relu", OneNode("Relu").bytes());
  }
  void act() override {
    const std::vector<float> one = {1};
    std::ignore = client_->start_rollout({.model = "mallory/relu",
                                          .key = {},
                                          .steps = 1'000'000,
                                          .feeds = {{"y", "x"}},
                                          .noise = {},
                                          .inputs = {{"x", tensor::Tensor::of<float>({1}, one)}}});
  }
};

class Hungry final : public ModelAttacker {
 public:
  Hungry(const Target& target, core::Rng& rng) : ModelAttacker(target, rng) {
    push("hungry", hungry_model());
  }
  void act() override {
    const auto bits = static_cast<int>(20 + rng_.next_u64() % 20);
    const std::vector<std::int64_t> shape = {std::int64_t{1} << bits};
    ask("hungry", tensor::Tensor::of<std::int64_t>({1}, shape));
  }
};

template <class Kind>
std::unique_ptr<Attacker> make(const Target& target, core::Rng& rng) {
  return std::make_unique<Kind>(target, rng);
}

// The one that uses its account's names up comes last.
constexpr AttackRow kRows[] = {
    {"endless-model", "a loop of 16 million products, asked for again and again", make<Endless>},
    {"hungry-model", "outputs of up to 4 TB", make<Hungry>},
    {"rollout-flood", "rollouts of a million steps", make<Rollouts>},
    {"broken-models", "models with some bits wrong", make<BrokenModels>},
    {"wide-models", "70,000 inputs, long names, files of others, huge claims", make<WideModels>},
    {"many-models", "one model under ever new names", make<ManyModels>},
};

}  // namespace

std::span<const AttackRow> model_attacks() { return kRows; }

}  // namespace commensal::lab::hostile
