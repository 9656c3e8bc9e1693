// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/by_image.hpp>

namespace commensal::graph {

using core::Result;
using tensor::Tensor;
using tensor::TensorType;
using tensor::Value;

namespace {

TensorType image_type(const Tensor& all) {
  std::vector<std::int64_t> dims(all.shape().dims().begin(), all.shape().dims().end());
  dims[0] = 1;
  return {all.dtype(), *tensor::Shape::of(dims)};
}

/// The part of one image, to be read.
Tensor image_of(const Tensor& all, std::int64_t image) {
  const TensorType type = image_type(all);
  const auto bytes = static_cast<std::size_t>(type.bytes());
  return Tensor::view_of(type, all.bytes().subspan(static_cast<std::size_t>(image) * bytes, bytes),
                         all.owner());
}

class Batch {
 public:
  Batch(const Program& body, std::span<const Value* const> inputs, std::vector<Tensor> outputs)
      : body_(body), inputs_(inputs), outputs_(std::move(outputs)) {}

  std::int64_t images() const { return outputs_[0].shape()[0]; }

  Result<void> run(std::int64_t image, const Machine& machine) {
    std::vector<Value> inputs;
    for (const Value* input : inputs_) inputs.emplace_back(image_of(input->tensor(), image));
    std::vector<Tensor> places;
    for (const Tensor& output : outputs_) {
      const TensorType type = image_type(output);
      places.push_back(output.part(image * type.bytes(), type));
    }
    COMMENSAL_ASSIGN(const auto made, body_.run(std::move(inputs), machine, places));
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Tensor& output = made[i].tensor();
      if (output.place() == places[i].place()) continue;
      std::ranges::copy(output.bytes(), places[i].mutable_bytes().data());
    }
    return {};
  }

  /// The images before `count`, each on one thread.
  Result<void> run_apart(std::int64_t count, const Machine& machine) {
    const auto threads = static_cast<int>(std::min<std::int64_t>(machine.threads.threads(), count));
    std::vector<Result<void>> done(static_cast<std::size_t>(threads));
    kernels::Shares shares(count, threads);
    machine.threads.run(threads, [&](std::int64_t thread) {
      kernels::ThreadPool one(1);
      const kernels::ThreadPool::Burst burst(one, &machine.control);
      std::int64_t node_runs_left = machine.node_runs_left;
      const Machine alone{machine.arena, one, nullptr, machine.control, node_runs_left};
      Result<void>& mine = done[static_cast<std::size_t>(thread)];
      shares.work(static_cast<int>(thread), [&](std::int64_t image) {
        if (mine) mine = run(image, alone);
      });
    });
    for (Result<void>& one : done) COMMENSAL_TRY(std::move(one));
    return {};
  }

  std::vector<Value> take() && {
    return {std::make_move_iterator(outputs_.begin()), std::make_move_iterator(outputs_.end())};
  }

 private:
  const Program& body_;
  const std::span<const Value* const> inputs_;
  std::vector<Tensor> outputs_;
};

}  // namespace

Result<std::vector<Value>> run_by_image(const Program& body, std::span<const Value* const> inputs,
                                        std::span<const TensorType> types, const Machine& machine) {
  std::vector<Tensor> outputs;
  for (const TensorType& type : types) {
    COMMENSAL_ASSIGN(Tensor output, Tensor::allocate(machine.arena, type));
    outputs.push_back(std::move(output));
  }
  Batch batch(body, inputs, std::move(outputs));
  const std::int64_t threads = machine.threads.threads();
  const std::int64_t apart =
      machine.tracer != nullptr ? 0 : batch.images() - batch.images() % threads;
  if (apart > 0) COMMENSAL_TRY(batch.run_apart(apart, machine));
  for (std::int64_t image = apart; image < batch.images(); ++image) {
    COMMENSAL_TRY(batch.run(image, machine));
  }
  return std::move(batch).take();
}

}  // namespace commensal::graph
