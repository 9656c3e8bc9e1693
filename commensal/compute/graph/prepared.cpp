// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/optimise/optimise.hpp>
#include <commensal/compute/graph/prepared.hpp>
#include <utility>

namespace commensal::graph {

namespace {

/// Batches come in several sizes; more than these at a time are made anew.
constexpr std::size_t kPlannedMax = 8;

}  // namespace

void Prepared::Share::take(std::int64_t nodes, std::int64_t ops) {
  PackCache::InnerPlans& plans = cache_->inner_plans();
  nodes_ += nodes;
  ops_ += ops;
  plans.nodes_left -= nodes;
  plans.ops_left -= ops;
}

Prepared::ProgramResult Prepared::plain(const kernels::ThreadPool* host) {
  const std::lock_guard lock(plain_.mutex);
  if (plain_.program == nullptr) {
    COMMENSAL_ASSIGN(Program made,
                     Program::make(graph_, isa_, cache_, Program::Form::kAsItIs, host));
    plain_.program = std::make_shared<const Program>(std::move(made));
    if (is_inner_) plain_.share.take(static_cast<std::int64_t>(graph_->nodes.size()), 0);
  }
  return plain_.program;
}

/// Null: it is not to be had.
std::shared_ptr<const Graph> Prepared::optimised(Plan& plan,
                                                 const kernels::ThreadPool* host) const {
  if (!is_inner_) return optimise::optimised(*graph_, plan.inputs, host);
  plan.share.give_back();  // who was stopped has taken it already
  const PackCache::InnerPlans& left = cache_->inner_plans();
  const auto nodes = static_cast<std::int64_t>(graph_->nodes.size());
  if (left.nodes_left < nodes) return nullptr;
  const std::int64_t ops_max = std::max<std::int64_t>(left.ops_left, 0);
  std::int64_t ops_left = ops_max;
  auto made = optimise::optimised(*graph_, plan.inputs, host, ops_left);
  plan.share.take(nodes, ops_max - ops_left);
  return made;
}

Prepared::ProgramResult Prepared::make(Plan& plan, const kernels::ThreadPool* host) {
  auto graph = optimised(plan, host);
  if (graph == nullptr) return plain(host);
  COMMENSAL_ASSIGN(Program made,
                   Program::make(std::move(graph), isa_, cache_, Program::Form::kPlanned, host));
  return std::make_shared<const Program>(std::move(made));
}

/// Null: it is not to be kept. `dropped`: what has gone for its sake.
std::shared_ptr<Prepared::Plan> Prepared::find(const std::vector<tensor::TensorType>& inputs,
                                               std::shared_ptr<Plan>& dropped) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      plans_, [&](const std::shared_ptr<Plan>& plan) { return plan->inputs == inputs; });
  if (found != plans_.end()) {
    std::rotate(plans_.begin(), found, found + 1);
    return plans_.front();
  }
  if (plans_.size() == kPlannedMax) {
    if (is_inner_ && std::exchange(missed_, inputs) != inputs) return nullptr;
    dropped = std::move(plans_.back());
    plans_.pop_back();
  }
  return *plans_.insert(plans_.begin(), std::make_shared<Plan>(inputs, cache_));
}

Prepared::ProgramResult Prepared::planned(const std::vector<tensor::TensorType>& inputs,
                                          const kernels::ThreadPool* host) {
  std::shared_ptr<Plan> dropped;
  const std::shared_ptr<Plan> plan = find(inputs, dropped);
  if (plan == nullptr) return plain(host);
  const std::lock_guard lock(plan->mutex);
  if (plan->program == nullptr) {
    COMMENSAL_ASSIGN(plan->program, make(*plan, host));
  }
  if (std::exchange(dropped, nullptr) != nullptr) cache_->drop_unused();
  return plan->program;
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
