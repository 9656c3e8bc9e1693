// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <filesystem>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using graph::Graph;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

namespace {

constexpr const char* kTarget = "target";

/// The first dimension is the batch, whether the model says so or leaves it free.
Result<std::vector<std::int64_t>> sample_of(const graph::ValueInfo& input, std::int64_t batch) {
  const auto& dims = input.declared.dims;
  const bool fits = input.declared.ranked && !dims.empty() && (dims[0] < 0 || dims[0] == batch);
  bool is_known = fits;
  for (std::size_t i = 1; i < dims.size(); ++i) is_known = is_known && dims[i] >= 0;
  if (is_known) return std::vector<std::int64_t>(dims.begin() + 1, dims.end());
  return fail(ErrorCode::kInvalidArgument,
              "input '{}' is {}, expected a batch of {} in front and nothing else free", input.name,
              input.declared.text(), batch);
}

TensorType batch_of(const Tensor& samples, std::int64_t batch) {
  std::vector<std::int64_t> dims(samples.shape().dims().begin(), samples.shape().dims().end());
  dims[0] = batch;
  return {samples.dtype(), *tensor::Shape::of(dims)};
}

Result<Tensor> input_samples(const Plan& plan, const graph::ValueInfo& input) {
  const auto source = plan.data.find(input.name);
  if (source == plan.data.end())
    return fail(ErrorCode::kInvalidArgument, "'data' has nothing for the model's input '{}'",
                input.name);
  COMMENSAL_ASSIGN(const auto sample, sample_of(input, plan.batch));
  COMMENSAL_ASSIGN(const Tensor raw, read_source(source->second));
  auto made = prepared(raw, source->second.scale, input.declared.dtype, sample);
  if (!made) return core::in_context(fmt::format("input '{}'", input.name), made.error());
  return made;
}

/// As the file has it: classes become int64, numbers float32.
Result<Tensor> target_samples(const Plan& plan) {
  const auto source = plan.data.find(kTarget);
  if (source == plan.data.end())
    return fail(ErrorCode::kInvalidArgument, "'data' has nothing for the loss's '{}'", kTarget);
  COMMENSAL_ASSIGN(const Tensor raw, read_source(source->second));
  const auto dims = raw.shape().dims().subspan(1);
  const DType dtype = plan.loss.kind == LossKind::kCrossEntropy ? DType::kInt64 : DType::kFloat32;
  auto made = prepared(raw, source->second.scale, dtype, {dims.begin(), dims.end()});
  if (!made) return core::in_context(kTarget, made.error());
  return made;
}

Result<std::vector<Tensor>> read_data(const Plan& plan, const Graph& model) {
  std::vector<Tensor> made;
  for (const graph::ValueId id : model.inputs) {
    COMMENSAL_ASSIGN(made.emplace_back(),
                     input_samples(plan, model.values[static_cast<std::size_t>(id)]));
  }
  if (plan.loss.kind != LossKind::kValue) {
    COMMENSAL_ASSIGN(made.emplace_back(), target_samples(plan));
  }
  for (const auto& [name, source] : plan.data) {
    const bool is_known = name == kTarget || std::ranges::any_of(model.inputs, [&](auto id) {
                            return model.name_of(id) == name;
                          });
    if (!is_known)
      return fail(ErrorCode::kInvalidArgument, "'data.{}': the model has no such input", name);
  }
  for (const Tensor& each : made) {
    if (each.shape()[0] != made[0].shape()[0])
      return fail(ErrorCode::kInvalidArgument, "the data has {} and {} samples, expected as many",
                  made[0].shape()[0], each.shape()[0]);
  }
  if (made.empty() || made[0].shape()[0] < plan.batch) {
    return fail(ErrorCode::kInvalidArgument, "{} samples, expected at least a batch of {}",
                made.empty() ? 0 : made[0].shape()[0], plan.batch);
  }
  return made;
}

/// Of all that decides the weights after a number of steps.
core::Digest training_of(const Plan& plan, core::ByteView file, const Graph& model,
                         const std::vector<Tensor>& data, const std::vector<std::string>& weights) {
  crypto::Sha256 hash = crypto::begin_tagged_hash("commensal training 2");
  const auto text = [&](const std::string& part) {
    hash.update(core::as_bytes(fmt::format("{}:{}", part.size(), part)));
  };
  text(std::to_string(kernels::kNumericsVersion));
  hash.update(crypto::sha256(file));
  for (const auto& [id, value] : model.initialisers) {  // the file may keep them in others
    text(model.name_of(id));
    text(value.type().text());
    hash.update(crypto::sha256(value.bytes()));
  }
  for (const Tensor& each : data) {
    text(each.type().text());
    hash.update(crypto::sha256(each.bytes()));
  }
  for (const std::string& name : weights) text(name);
  const Optimiser& o = plan.optimiser;
  const Schedule& s = plan.schedule;
  const bool counts = s.kind != Schedule::Kind::kConstant;
  text(fmt::format("{} {} | {} {} {} {} {} {} {} {} | {} {} {} {} | {} {}",
                   static_cast<int>(plan.loss.kind), plan.loss.output, static_cast<int>(o.kind),
                   o.rate, o.momentum, o.beta1, o.beta2, o.epsilon, o.decay, o.clip,
                   static_cast<int>(s.kind), s.warmup, s.end, counts ? plan.steps : 0, plan.batch,
                   plan.seed));
  return hash.finish();
}

/// Known before the first step, told before it.
Result<void> check_folder(const core::Path& file) {
  std::error_code ignored;
  const core::Path folder = file.parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return {};
  return fail(ErrorCode::kNotFound,
              "'checkpoint.file' is {}, expected one in a folder that is there", file.string());
}

Result<Tensor> zeros(const TensorType& type) {
  return Tensor::copy_of(type, core::Bytes(static_cast<std::size_t>(type.bytes())));
}

const Tensor& initialiser(const Graph& model, const std::string& name) {
  const auto at = std::ranges::find_if(
      model.initialisers, [&](const auto& entry) { return model.name_of(entry.first) == name; });
  core::check(at != model.initialisers.end(), "a weight that has a gradient is there");
  return at->second;
}

bool is_finite(const Tensor& tensor) {
  const auto all = [](auto values) {
    return std::ranges::all_of(values, [](auto value) { return std::isfinite(value); });
  };
  if (tensor.dtype() == DType::kFloat32) return all(tensor.data<float>());
  if (tensor.dtype() == DType::kFloat64) return all(tensor.data<double>());
  const auto narrow = [](auto values) {
    return std::ranges::all_of(values,
                               [](auto value) { return std::isfinite(tensor::to_float(value)); });
  };
  if (tensor.dtype() == DType::kFloat16) return narrow(tensor.data<tensor::Float16>());
  if (tensor.dtype() == DType::kBfloat16) return narrow(tensor.data<tensor::Bfloat16>());
  return true;
}

float loss_of(const Tensor& loss) {
  return loss.dtype() == DType::kFloat64 ? static_cast<float>(loss.data<double>()[0])
                                         : loss.data<float>()[0];
}

}  // namespace

Result<Trainer> Trainer::create(const Plan& plan, const graph::SessionOptions& options) {
  COMMENSAL_TRY(check_folder(plan.checkpoint));
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(plan.model));
  auto imported = graph::onnx::import_file(plan.model);
  if (!imported) return core::in_context(plan.model.string(), imported.error());
  const Graph& model = **imported;
  COMMENSAL_ASSIGN(auto data, read_data(plan, model));
  StepRequest request{{}, {}, plan.loss, plan.weights, plan.optimiser, plan.schedule, plan.steps};
  for (std::size_t i = 0; i < model.inputs.size(); ++i)
    request.inputs.push_back(batch_of(data[i], plan.batch));
  if (plan.loss.kind != LossKind::kValue) request.target = batch_of(data.back(), plan.batch);
  if (request.weights.empty()) {
    COMMENSAL_ASSIGN(request.weights, trained_weights(model, plan.loss.output));
  }
  COMMENSAL_ASSIGN(Step step, make_step(model, request));
  COMMENSAL_ASSIGN(auto session, graph::Session::create(step.graph, options));
  Order order(plan.seed, data[0].shape()[0], plan.batch);
  const core::Digest training = training_of(plan, file->bytes(), model, data, request.weights);
  Trainer made(plan, std::move(step), std::move(session), {std::move(data)}, std::move(order));
  made.state_.training = training;
  made.weights_ = request.weights.size();
  for (std::size_t i = 0; i < made.step_.state.size(); ++i) {
    const auto& [name, type] = made.step_.state[i];
    if (i < made.weights_) {
      made.state_.state.push_back({name, initialiser(model, name)});
    } else {
      COMMENSAL_ASSIGN(Tensor nothing, zeros(type));
      made.state_.state.push_back({name, std::move(nothing)});
    }
  }
  COMMENSAL_TRY(made.resume());
  return made;
}

Result<void> Trainer::resume() {
  if (plan_.checkpoint.empty() || !std::filesystem::exists(plan_.checkpoint)) return {};
  const auto place = plan_.checkpoint.string();
  COMMENSAL_ASSIGN(const auto bytes, core::read_file(plan_.checkpoint));
  auto read = decode(bytes);
  if (!read) return core::in_context(place, read.error());
  if (read->training != state_.training) {
    return fail(ErrorCode::kFailedPrecondition,
                "{}: the checkpoint is of another training (its model, data or settings differ): "
                "remove it, or name another file",
                place);
  }
  if (read->step > plan_.steps) {
    return fail(ErrorCode::kFailedPrecondition,
                "{}: the checkpoint has {} steps done, expected at most 'steps', which is {}",
                place, read->step, plan_.steps);
  }
  bool fits = read->state.size() == state_.state.size();
  for (std::size_t i = 0; fits && i < state_.state.size(); ++i)
    fits = read->state[i].value.type() == step_.state[i].type;
  if (!fits) return fail(ErrorCode::kDataLoss, "{}: its state is not that of the training", place);
  state_ = *std::move(read);
  return {};
}

Result<void> Trainer::step() {
  std::vector<Tensor> inputs;
  const auto& which = order_.of_step(state_.step);
  for (const Tensor& samples : data_.arrays) inputs.push_back(gathered(samples, which));
  for (const Checkpoint::Entry& entry : state_.state) inputs.push_back(entry.value);
  COMMENSAL_ASSIGN(const auto made, session_.run(inputs));
  const float loss = loss_of(made[0]);
  if (!std::isfinite(loss)) {
    return fail(ErrorCode::kFailedPrecondition,
                "the loss of step {} is {}: try a smaller rate, or clip gradients", state_.step + 1,
                loss);
  }
  for (std::size_t i = 0; i < state_.state.size(); ++i) state_.state[i].value = made[i + 1];
  state_.losses.push_back(loss);
  ++state_.step;
  if (state_.step % plan_.every == 0) return save();
  return {};
}

Result<void> Trainer::check_finite() const {
  for (const Checkpoint::Entry& entry : state_.state) {
    if (is_finite(entry.value)) continue;
    return fail(ErrorCode::kFailedPrecondition,
                "'{}' is not finite after step {}: what was written before is left as it was",
                entry.name, state_.step);
  }
  return {};
}

Result<void> Trainer::save() const {
  COMMENSAL_TRY(check_finite());
  if (plan_.checkpoint.empty()) return {};
  return core::write_file_atomically(plan_.checkpoint, encode(state_));
}

core::Digest Trainer::weights_digest() const {
  crypto::Sha256 hash = crypto::begin_tagged_hash("commensal weights 1");
  for (std::size_t i = 0; i < weights_; ++i)
    hash.update(crypto::sha256(state_.state[i].value.bytes()));
  return hash.finish();
}

Result<core::Bytes> Trainer::exported() const {
  COMMENSAL_TRY(check_finite());
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(plan_.model));
  const auto end = state_.state.begin() + static_cast<std::ptrdiff_t>(weights_);
  return with_weights(file->bytes(), {state_.state.begin(), end});
}

}  // namespace commensal::train
