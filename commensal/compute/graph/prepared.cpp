// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/optimise/optimise.hpp>
#include <commensal/compute/graph/prepared.hpp>

namespace commensal::graph {

namespace {

/// Batches come in several sizes; more than these at a time are made anew.
constexpr std::size_t kPlannedMax = 8;

}  // namespace

Prepared::ProgramResult Prepared::plain(const kernels::ThreadPool* host) {
  const std::lock_guard lock(mutex_);
  return plain_locked(host);
}

Prepared::ProgramResult Prepared::plain_locked(const kernels::ThreadPool* host) {
  if (plain_ == nullptr) {
    COMMENSAL_ASSIGN(Program made,
                     Program::make(graph_, isa_, cache_, Program::Form::kAsItIs, host));
    plain_ = std::make_shared<const Program>(std::move(made));
    if (is_inner_) charge(static_cast<std::int64_t>(graph_->nodes.size()), 0);
  }
  return plain_;
}

Prepared::~Prepared() {
  cache_->inner_plans().nodes_left += nodes_;
  cache_->inner_plans().ops_left += ops_;
}

/// Null: it is not to be had.
std::shared_ptr<const Graph> Prepared::optimised_locked(
    const std::vector<tensor::TensorType>& inputs, const kernels::ThreadPool* host) {
  if (!is_inner_) return optimise::optimised(*graph_, inputs, host);
  const PackCache::InnerPlans& plans = cache_->inner_plans();
  const auto nodes = static_cast<std::int64_t>(graph_->nodes.size());
  if (plans.nodes_left < nodes) return nullptr;
  const std::int64_t ops_max = std::max<std::int64_t>(plans.ops_left, 0);
  std::int64_t ops_left = ops_max;
  auto made = optimise::optimised(*graph_, inputs, host, ops_left);
  charge(nodes, ops_max - ops_left);
  return made;
}

void Prepared::charge(std::int64_t nodes, std::int64_t ops) {
  PackCache::InnerPlans& plans = cache_->inner_plans();
  nodes_ += nodes;
  ops_ += ops;
  plans.nodes_left -= nodes;
  plans.ops_left -= ops;
}

Prepared::ProgramResult Prepared::planned(const std::vector<tensor::TensorType>& inputs,
                                          const kernels::ThreadPool* host) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(planned_, inputs, &Planned::inputs);
  if (found != planned_.end()) return found->program;
  if (is_inner_ && planned_.size() == kPlannedMax) return plain_locked(host);
  Planned planned{inputs, nullptr};
  if (auto graph = optimised_locked(inputs, host)) {
    COMMENSAL_ASSIGN(Program made,
                     Program::make(std::move(graph), isa_, cache_, Program::Form::kPlanned, host));
    planned.program = std::make_shared<const Program>(std::move(made));
  } else {
    COMMENSAL_ASSIGN(planned.program, plain_locked(host));
  }
  planned_.push_front(std::move(planned));
  if (planned_.size() > kPlannedMax) {
    planned_.pop_back();
    cache_->drop_unused();
  }
  return planned_.front().program;
}

Prepared::ProgramResult Prepared::for_inputs(std::span<const tensor::Value> inputs,
                                             const kernels::ThreadPool* host) {
  std::vector<tensor::TensorType> types;
  for (const tensor::Value& input : inputs) {
    if (!input.is_tensor() || input.tensor().dtype() == tensor::DType::kString) return plain(host);
    types.push_back(input.tensor().type());
  }
  return planned(types, host);
}

}  // namespace commensal::graph
