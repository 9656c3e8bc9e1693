// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/compute/train/data.hpp>
#include <commensal/compute/train/loss.hpp>
#include <commensal/compute/train/samples.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <commensal/compute/train/weights.hpp>
#include <filesystem>
#include <utility>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using graph::Graph;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

namespace {

/// Settings that decide the weights, in words.
std::string settings_of(const Plan& plan) {
  const Optimiser& o = plan.optimiser;
  const Schedule& s = plan.schedule;
  const bool counts = s.kind != Schedule::Kind::kConstant;
  std::string made =
      fmt::format("{} {} {} {} | {} {} {} {} {} {} {} {} | {} {} {} {} | {} {} {}",
                  static_cast<int>(plan.loss.kind), plan.loss.output,
                  plan.loss.ignored ? std::to_string(*plan.loss.ignored) : "-", plan.loss.smoothing,
                  static_cast<int>(o.kind), o.rate, o.momentum, o.beta1, o.beta2, o.epsilon,
                  o.decay, o.clip, static_cast<int>(s.kind), s.warmup, s.end,
                  counts ? plan.steps : 0, plan.batch, plan.accumulate, plan.seed);
  if (plan.adapters) made += fmt::format(" | {} {}", plan.adapters->rank, plan.adapters->scale);
  return made;
}

/// Of all that decides the weights after a number of steps. `model`: with its adapters.
core::Digest training_of(const Plan& plan, core::ByteView file, const Graph& model,
                         const std::vector<Tensor>& data, const std::vector<std::string>& weights) {
  crypto::Sha256 hash = crypto::begin_tagged_hash("commensal training 4");
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
  text(settings_of(plan));
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

float loss_of(const Tensor& loss) {
  return loss.dtype() == DType::kFloat64 ? static_cast<float>(loss.data<double>()[0])
                                         : loss.data<float>()[0];
}

/// Which weights are trained, and of which graph.
Result<void> choose_weights(const Plan& plan, const std::vector<TensorType>& inputs,
                            Trained& model) {
  const std::string& output = plan.loss.output;
  COMMENSAL_TRY(output_named(*model.graph, output));
  if (!plan.weights.empty()) {
    COMMENSAL_ASSIGN(model.weights, chosen_weights(*model.graph, output, plan.weights));
  } else if (!plan.adapters) {
    COMMENSAL_ASSIGN(model.weights, trained_weights(*model.graph, output));
  }
  if (!plan.adapters) return {};
  COMMENSAL_ASSIGN(model.adapted,
                   with_adapters(*model.graph, *plan.adapters, inputs, output, plan.seed));
  model.graph = model.adapted->graph;
  for (const Adapted::One& one : model.adapted->all) {
    model.weights.push_back(one.a);
    model.weights.push_back(one.b);
  }
  return {};
}

/// None where the plan has none. `data`: of the training, which loses those that are held out.
Result<std::vector<Tensor>> held_out_samples(const Plan& plan, const Graph& model,
                                             std::vector<Tensor>& data) {
  if (!plan.evaluate) return std::vector<Tensor>();
  if (plan.evaluate->last > 0) return take_last(data, plan.evaluate->last, plan.batch);
  auto read =
      read_samples(plan.evaluate->data, model, plan.loss.kind, plan.batch / plan.accumulate, 1);
  if (!read) return core::in_context("'evaluate'", read.error());
  return read;
}

}  // namespace

Result<Trainer> Trainer::create(const Plan& plan, const graph::SessionOptions& options) {
  COMMENSAL_TRY(check_folder(plan.checkpoint));
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(plan.model));
  auto imported = graph::onnx::import_file(plan.model);
  if (!imported) return core::in_context(plan.model.string(), imported.error());
  COMMENSAL_ASSIGN(auto data, read_samples(plan.data, **imported, plan.loss.kind,
                                           plan.batch / plan.accumulate, plan.batch));
  StepRequest request{{},
                      {},
                      plan.loss,
                      {},
                      plan.optimiser,
                      plan.schedule,
                      plan.steps,
                      plan.accumulate,
                      plan.recompute};
  std::vector<TensorType> part;
  for (std::size_t i = 0; i < (*imported)->inputs.size(); ++i) {
    request.inputs.push_back(batch_of(data[i], plan.batch));
    part.push_back(batch_of(data[i], plan.batch / plan.accumulate));
  }
  if (plan.loss.kind != LossKind::kValue) request.target = batch_of(data.back(), plan.batch);
  Trained model{*imported, {}, {}};
  COMMENSAL_TRY(choose_weights(plan, part, model));
  request.weights = model.weights;
  COMMENSAL_ASSIGN(Step step, make_step(*model.graph, request));
  COMMENSAL_TRY(check_classes(plan.data, data.back(), step.classes, plan.loss));
  COMMENSAL_ASSIGN(auto held, held_out_samples(plan, **imported, data));
  COMMENSAL_ASSIGN(auto session, graph::Session::create(step.graph, options));
  const core::Digest training =
      training_of(plan, file->bytes(), *model.graph, data, request.weights);
  Order order(plan.seed, data[0].shape()[0], plan.batch);
  Trainer made(plan, options, std::move(step), std::move(session), {std::move(data)},
               std::move(order));
  if (!held.empty()) {
    auto held_out =
        Evaluation::create(*model.graph, plan, std::move(held), request.weights, options);
    if (!held_out) return core::in_context("'evaluate'", held_out.error());
    made.held_out_.emplace(*std::move(held_out));
  }
  COMMENSAL_TRY(made.begin(model, training));
  COMMENSAL_TRY(made.resume());
  return made;
}

Result<void> Trainer::begin(const Trained& model, const core::Digest& training) {
  adapted_ = model.adapted;
  state_.training = training;
  weights_ = model.weights.size();
  for (const auto& [name, type] : step_.state) {
    if (state_.state.size() < weights_) {
      const Tensor* const first = initialiser_of(*model.graph, name);
      core::check(first != nullptr, "a weight that has a gradient is there");
      state_.state.push_back({name, *first});
    } else {
      COMMENSAL_ASSIGN(Tensor nothing, zeros(type));
      state_.state.push_back({name, std::move(nothing)});
    }
  }
  return {};
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

Result<void> Trainer::take(Checkpoint state) {
  bool fits = state.state.size() == state_.state.size() && state.step >= 0 &&
              state.step <= plan_.steps && std::cmp_equal(state.losses.size(), state.step);
  for (std::size_t i = 0; fits && i < state_.state.size(); ++i)
    fits = state.state[i].value.type() == step_.state[i].type;
  if (!fits) {
    return fail(ErrorCode::kInvalidArgument,
                "a state after step {} is not of this training of {} steps", state.step,
                plan_.steps);
  }
  for (std::size_t t = 0; t < state.losses.size(); ++t) {
    if (!std::isfinite(state.losses[t])) {
      return fail(ErrorCode::kFailedPrecondition,
                  "the loss of step {} is {}: try a smaller rate, or clip gradients", t + 1,
                  state.losses[t]);
    }
  }
  COMMENSAL_TRY(check_finite(state));
  state.training = state_.training;
  state.confirmed = std::min(state_.confirmed, state.step);
  state.held_out = std::move(state_.held_out);
  std::erase_if(state.held_out, [&](const auto& one) { return one.step > state.step; });
  state_ = std::move(state);
  return {};
}

void Trainer::confirm(std::int64_t steps) {
  state_.confirmed = std::clamp(steps, state_.confirmed, state_.step);
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
  if (state_.confirmed == state_.step) ++state_.confirmed;
  ++state_.step;
  return keep_up(state_.step - 1);
}

Result<void> Trainer::keep_up(std::int64_t before) {
  const auto is_due = [&](std::int64_t every) { return state_.step / every > before / every; };
  const bool is_last = state_.step == plan_.steps;
  if (held_out_ && (is_last || is_due(plan_.evaluate->every))) COMMENSAL_TRY(evaluate());
  if (is_due(plan_.every)) return save();
  return {};
}

Result<void> Trainer::evaluate() {
  if (!held_out_) return {};
  if (!state_.held_out.empty() && state_.held_out.back().step == state_.step) return {};
  COMMENSAL_ASSIGN(const auto found, held_out_->run(state_.step, trained()));
  state_.held_out.push_back(found);
  return {};
}

std::int64_t Trainer::tokens() const {
  for (std::size_t i = 0; i < step_.batch_inputs; ++i) {
    const auto& type = data_.arrays[i].type();
    const bool is_text = type.dtype == DType::kInt64 || type.dtype == DType::kInt32;
    if (is_text && type.shape.rank() == 2) return plan_.batch * type.shape[1];
  }
  return 0;
}

Result<void> Trainer::check_finite(const Checkpoint& checkpoint) {
  for (const Checkpoint::Entry& entry : checkpoint.state) {
    if (is_finite(entry.value)) continue;
    return fail(ErrorCode::kFailedPrecondition,
                "'{}' is not finite after step {}: what was written before is left as it was",
                entry.name, checkpoint.step);
  }
  return {};
}

Result<void> Trainer::save() const {
  COMMENSAL_TRY(check_finite(state_));
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
  COMMENSAL_TRY(check_finite(state_));
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(plan_.model));
  const std::vector<Checkpoint::Entry> weights(trained().begin(), trained().end());
  if (!adapted_) return with_weights(file->bytes(), weights);
  if (!plan_.adapters->merges)
    return with_adapter_nodes(file->bytes(), *adapted_, plan_.adapters->scale, weights);
  COMMENSAL_ASSIGN(const auto merged, merged_weights(*adapted_, weights, options_));
  return with_weights(file->bytes(), merged);
}

}  // namespace commensal::train
