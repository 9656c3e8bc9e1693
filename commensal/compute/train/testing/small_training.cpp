// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <commensal/base/core/check.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/train/testing/small_training.hpp>
#include <vector>

namespace commensal::train::testing {

namespace {

class Writer {
 public:
  Writer() {
    model_.set_ir_version(7);
    model_.add_opset_import()->set_version(13);
    graph().set_name("small");
  }
  void declare(::onnx::ValueInfoProto& info, const std::string& name,
               const std::vector<std::int64_t>& dims) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(::onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("N");
    for (const std::int64_t dim : dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  /// Drawn between middle - width and middle + width.
  void weight(const std::string& name, const std::vector<std::int64_t>& dims, float middle,
              float width) {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    std::uint64_t count = 1;
    for (const std::int64_t dim : dims) {
      tensor.add_dims(dim);
      count *= static_cast<std::uint64_t>(dim);
    }
    for (std::uint64_t i = 0; i < count; ++i)
      tensor.add_float_data(middle + width * core::counter_symmetric_f32(5, stream_, i));
    ++stream_;
  }
  ::onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::string& output) {
    auto& made = *graph().add_node();
    made.set_op_type(op);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    return made;
  }
  static void list(::onnx::NodeProto& node, const std::string& name,
                   const std::vector<std::int64_t>& values) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
  }
  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  core::Bytes finish() const {
    const std::string text = model_.SerializeAsString();
    return {text.begin(), text.end()};
  }

 private:
  ::onnx::ModelProto model_;
  std::uint64_t stream_ = 0;
};

}  // namespace

core::Bytes small_model() {
  Writer writer;
  writer.declare(*writer.graph().add_input(), "x", {1, 8, 8});
  writer.weight("conv.w", {6, 1, 3, 3}, 0, 0.5f);
  writer.weight("conv.b", {6}, 0, 0.1f);
  writer.weight("bn.scale", {6}, 1, 0.1f);
  writer.weight("bn.bias", {6}, 0, 0.1f);
  writer.weight("bn.mean", {6}, 0, 0.1f);
  writer.weight("bn.var", {6}, 1, 0.1f);
  writer.weight("fc.w", {96, 4}, 0, 0.15f);
  writer.weight("fc.b", {4}, 0, 0.1f);
  Writer::list(writer.node("Conv", {"x", "conv.w", "conv.b"}, "a"), "pads", {1, 1, 1, 1});
  writer.node("BatchNormalization", {"a", "bn.scale", "bn.bias", "bn.mean", "bn.var"}, "b");
  writer.node("Relu", {"b"}, "c");
  auto& pool = writer.node("MaxPool", {"c"}, "d");
  Writer::list(pool, "kernel_shape", {2, 2});
  Writer::list(pool, "strides", {2, 2});
  writer.node("Flatten", {"d"}, "e");
  writer.node("Gemm", {"e", "fc.w", "fc.b"}, "scores");
  writer.declare(*writer.graph().add_output(), "scores", {4});
  return writer.finish();
}

Pictures pictures(std::int64_t count) {
  std::vector<float> x;
  std::vector<std::int64_t> target;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t quarter = (i * 7 + i / 4) % 4;
    target.push_back(quarter);
    for (std::int64_t at = 0; at < 64; ++at) {
      const bool inside = at / 32 == quarter / 2 && at % 8 / 4 == quarter % 2;
      const float noise = core::counter_symmetric_f32(6, static_cast<std::uint64_t>(i),
                                                      static_cast<std::uint64_t>(at));
      x.push_back((inside ? 0.5f : 0.0f) + noise);
    }
  }
  return {tensor::Tensor::of<float>({count, 1, 8, 8}, x),
          tensor::Tensor::of<std::int64_t>({count}, target)};
}

SmallTraining::SmallTraining(const std::string& more)
    : folder_(std::move(core::TemporaryFolder::make("commensal-train")).value()) {
  write("model.onnx", small_model());
  const Pictures all = pictures(100);
  write("x.npy", *io::write_npy(all.x));
  write("y.npy", *io::write_npy(all.target));
  write_plan(more);
}

void SmallTraining::write(const std::string& name, core::ByteView bytes) const {
  const auto done = core::write_file_atomically(file(name), bytes);
  core::check(done.has_value(), "a test's folder can be written");
}

void SmallTraining::write_plan(const std::string& more) const {
  const bool has_data = more.starts_with("data:") || more.find("\ndata:") != more.npos;
  write("train.yaml",
        core::as_bytes(std::string("model: model.onnx\n") +
                       (has_data ? "" : "data: {x: x.npy, target: y.npy}\n") +
                       "loss: {output: scores, kind: cross_entropy}\nbatch: 16\n" + more));
}

core::Result<Trainer> trainer_of(const SmallTraining& training,
                                 const graph::SessionOptions& options) {
  COMMENSAL_ASSIGN(const Plan plan, read_plan(training.plan()));
  return Trainer::create(plan, options);
}

std::string run(Trainer& trainer, int steps) {
  for (int i = 0; i < steps; ++i) {
    if (const auto done = trainer.step(); !done) return done.error().message;
  }
  return "";
}

std::string refusal(const SmallTraining& training) {
  const auto made = trainer_of(training);
  return made ? "accepted" : made.error().message;
}

std::string digest_after(const SmallTraining& training, int steps,
                         const graph::SessionOptions& options) {
  auto trainer = trainer_of(training, options);
  if (!trainer) return trainer.error().message;
  const std::string wrong = run(*trainer, steps);
  return wrong.empty() ? core::to_hex(trainer->weights_digest()) : wrong;
}

}  // namespace commensal::train::testing
