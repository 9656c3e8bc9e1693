// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/train/function_file.hpp>
#include <commensal/compute/train/segment.hpp>
#include <utility>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

namespace {

constexpr const char* kDomain = "commensal.training";
constexpr const char* kStep = "step";
constexpr const char* kOrder = "commensal.order";

std::string constant_name(graph::ValueId id) { return fmt::format("commensal.constant.{}", id); }

Tensor whole(std::int64_t value) { return Tensor::of<std::int64_t>({}, std::span(&value, 1)); }

Result<void> check_steps(const Trainer& trainer, std::int64_t each) {
  const std::int64_t left = trainer.plan().steps - trainer.done();
  if (each >= 1 && each <= left) return {};
  return fail(ErrorCode::kInvalidArgument,
              "{} steps at a time, expected at most those that are left, {} of {}", each, left,
              trainer.plan().steps);
}

/// Too large ones are refused before they are made.
Result<void> check_bytes(const Trainer& trainer) {
  std::int64_t bytes = trainer.plan().steps * trainer.plan().batch * 8;
  for (const Tensor& each : trainer.data()) bytes += each.type().bytes();
  for (const auto& [id, value] : trainer.step_graph().graph->initialisers)
    bytes += value.type().bytes();
  if (bytes <= limits::kModelBytesMax / 2) return {};
  return fail(ErrorCode::kResourceExhausted,
              "data, order and constants have {} bytes, expected at most {} of one model", bytes,
              limits::kModelBytesMax / 2);
}

/// Which samples each step takes.
Tensor order_table(const Trainer& trainer) {
  const Plan& plan = trainer.plan();
  Order order(plan.seed, trainer.data()[0].shape()[0], plan.batch);
  std::vector<std::int64_t> all;
  all.reserve(static_cast<std::size_t>(plan.steps * plan.batch));
  for (std::int64_t t = 0; t < plan.steps; ++t) {
    const auto& which = order.of_step(t);
    all.insert(all.end(), which.begin(), which.end());
  }
  return Tensor::of<std::int64_t>({plan.steps, plan.batch}, all);
}

bool is_loss(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

void add_losses(const Tensor& losses, std::vector<float>& all) {
  if (losses.dtype() == DType::kFloat64) {
    for (const double loss : losses.data<double>()) all.push_back(static_cast<float>(loss));
  } else {
    all.insert(all.end(), losses.data<float>().begin(), losses.data<float>().end());
  }
}

/// Of the step's first output.
Result<DType> loss_dtype(const Trainer& trainer) {
  const Step& step = trainer.step_graph();
  COMMENSAL_ASSIGN(const auto known, graph::optimise::known_of(*step.graph, step_types(trainer)));
  const auto& type = known.types[static_cast<std::size_t>(step.graph->outputs[0])];
  if (type) return type->dtype;
  return fail(ErrorCode::kUnsupported, "the type of the loss is not known before it runs");
}

class Writer {
 public:
  Writer(const Trainer& trainer, std::int64_t each, DType loss)
      : trainer_(trainer), step_(trainer.step_graph()), each_(each), loss_(loss) {}

  Result<std::string> write() {
    const int opset = file_opset_of(*step_.graph);
    model_.set_ir_version(8);  // the first with functions
    import("", opset);
    import(kDomain, 1);
    graph().set_name("training");
    COMMENSAL_ASSIGN(*model_.add_functions(), function_of(*step_.graph, kStep, kDomain, opset));
    add_constants();
    add_ports();
    std::vector<std::string> losses;
    for (std::int64_t j = 0; j < each_; ++j) losses.push_back(add_step(j));
    set_integer(add_node(graph(), "Concat", losses, {kSegmentLosses}), "axis", 0);
    add_node(graph(), "Add", {kSegmentSteps, "commensal.each"}, {next_of(kSegmentSteps)});
    std::string text;
    if (model_.SerializeToString(&text)) return text;
    return fail(ErrorCode::kResourceExhausted, "the model is too large for one file");
  }

 private:
  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  std::size_t entries() const { return step_.state.size() - 1; }  // without the count

  void import(const char* domain, int version) {
    auto& made = *model_.add_opset_import();
    made.set_domain(domain);
    made.set_version(version);
  }

  void add_constants() {
    const auto add = [&](const std::string& name, const Tensor& value) {
      *graph().add_initializer() = tensor_proto(name, value);
    };
    for (const auto& [id, value] : step_.graph->initialisers) add(constant_name(id), value);
    for (std::size_t i = 0; i < trainer_.data().size(); ++i)
      add(segment_data_name(i), trainer_.data()[i]);
    add(kOrder, order_table(trainer_));
    const std::int64_t one = 1;
    add("commensal.each", whole(each_));
    add("commensal.one", Tensor::of<std::int64_t>({1}, std::span(&one, 1)));
  }

  void add_ports() {
    declare(*graph().add_input(), kSegmentSteps, {DType::kInt64, {}});
    declare(*graph().add_output(), kSegmentLosses, {loss_, *tensor::Shape::of(std::vector{each_})});
    declare(*graph().add_output(), next_of(kSegmentSteps), {DType::kInt64, {}});
    for (std::size_t i = 0; i < entries(); ++i) {
      const auto& [name, type] = step_.state[i];
      declare(*graph().add_input(), name, type);
      declare(*graph().add_output(), next_of(name), type);
    }
  }

  /// Its batch, then the step on the state that the one before made. Returns its loss's name.
  std::string add_step(std::int64_t j) {
    const auto name = [&](const char* what) { return fmt::format("commensal.{}.{}", what, j); };
    const std::string place = name("place"), which = name("which"), count = name("count");
    *graph().add_initializer() = tensor_proto(name("offset"), whole(j));
    add_node(graph(), "Add", {kSegmentSteps, name("offset")}, {place});
    set_integer(add_node(graph(), "Gather", {kOrder, place}, {which}), "axis", 0);
    set_integer(add_node(graph(), "Cast", {place}, {count}), "to",
                static_cast<std::int64_t>(DType::kFloat32));
    std::vector<std::string> inputs, outputs = {name("loss")};
    for (std::size_t i = 0; i < trainer_.data().size(); ++i) {
      inputs.push_back(fmt::format("{}.{}", name("batch"), i));
      set_integer(add_node(graph(), "Gather", {segment_data_name(i), which}, {inputs.back()}),
                  "axis", 0);
    }
    for (std::size_t i = 0; i < entries(); ++i) {
      const std::string& own = step_.state[i].name;
      inputs.push_back(j == 0 ? own : segment_state_name(j, i));
      outputs.push_back(j + 1 == each_ ? next_of(own) : segment_state_name(j + 1, i));
    }
    inputs.push_back(count);
    outputs.push_back(name("counted"));
    for (const auto& [id, value] : step_.graph->initialisers) inputs.push_back(constant_name(id));
    add_node(graph(), kStep, inputs, outputs).set_domain(kDomain);
    add_node(graph(), "Reshape", {name("loss"), "commensal.one"}, {name("losses")});
    return name("losses");
  }

  const Trainer& trainer_;
  const Step& step_;
  const std::int64_t each_;
  const DType loss_;
  ::onnx::ModelProto model_;
};

}  // namespace

std::string next_of(const std::string& state) { return "commensal.next." + state; }
std::string segment_data_name(std::size_t i) { return fmt::format("commensal.data.{}", i); }
std::string segment_state_name(std::int64_t j, std::size_t i) {
  return fmt::format("commensal.state.{}.{}", j, i);
}

Result<Segment> make_segment(const Trainer& trainer, std::int64_t each) {
  COMMENSAL_TRY(check_steps(trainer, each));
  COMMENSAL_TRY(check_bytes(trainer));
  COMMENSAL_ASSIGN(const DType loss, loss_dtype(trainer));
  COMMENSAL_ASSIGN(const std::string text, Writer(trainer, each, loss).write());
  Segment made;
  made.model.assign(text.begin(), text.end());
  made.each = each;
  for (const auto& input : segment_inputs(trainer)) made.state.push_back(input.name);
  return made;
}

tensor::NamedTensors segment_inputs(const Trainer& trainer) {
  tensor::NamedTensors made = {{kSegmentSteps, whole(trainer.done())}};
  for (std::size_t i = 0; i + 1 < trainer.state().size(); ++i)
    made.push_back({trainer.state()[i].name, trainer.state()[i].value});
  return made;
}

Result<void> take_segment(Trainer& trainer, const tensor::NamedTensors& outputs,
                          std::int64_t done) {
  Checkpoint made = trainer.checkpoint();
  bool fits = outputs.size() == made.state.size() + 1 && outputs[0].name == kSegmentLosses &&
              outputs[0].value.shape().rank() == 1 && is_loss(outputs[0].value.dtype()) &&
              outputs[1].name == next_of(kSegmentSteps) &&
              outputs[1].value.type() == TensorType{DType::kInt64, {}};
  for (std::size_t i = 0; fits && i + 1 < made.state.size(); ++i) {
    fits = outputs[i + 2].name == next_of(made.state[i].name);
    if (fits) made.state[i].value = outputs[i + 2].value;
  }
  if (fits) {
    made.step = outputs[1].value.data<std::int64_t>()[0];
    const std::int64_t before = done - outputs[0].value.shape()[0];
    fits = made.step == done && before >= 0 && std::cmp_less_equal(before, made.losses.size());
    if (fits) made.losses.resize(static_cast<std::size_t>(before));
  }
  if (!fits)
    return fail(ErrorCode::kInvalidArgument, "what came is no segment that follows this training");
  add_losses(outputs[0].value, made.losses);
  const auto count = static_cast<float>(made.step);
  made.state.back().value = Tensor::of<float>({}, std::span(&count, 1));
  return trainer.take(std::move(made));
}

bool is_at_end_of(const Trainer& trainer, const tensor::NamedTensors& outputs) {
  const tensor::NamedTensors own = segment_inputs(trainer);
  if (outputs.size() != own.size() + 1) return false;  // the losses come first
  return std::ranges::equal(
      own, std::span(outputs).subspan(1), [](const auto& is, const auto& made) {
        return made.name == next_of(is.name) && made.value.type() == is.value.type() &&
               std::ranges::equal(made.value.bytes(), is.value.bytes());
      });
}

}  // namespace commensal::train
