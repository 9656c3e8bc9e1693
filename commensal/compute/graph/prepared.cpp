// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/compute/graph/optimise/optimise.hpp>
#include <commensal/compute/graph/prepared.hpp>

namespace commensal::graph {

namespace {

/// Batches come in several sizes; more than these at a time are made anew.
constexpr std::size_t kPlannedMax = 8;
/// Of what all of them have computed ahead: as much as so many plans may have.
constexpr std::int64_t kFoldedPlansMax = 2;

/// Who waits for what another makes can be stopped meanwhile.
std::unique_lock<std::timed_mutex> locked(std::timed_mutex& mutex,
                                          const kernels::ThreadPool* host) {
  if (host == nullptr) return std::unique_lock(mutex);
  constexpr std::chrono::milliseconds kLook(2);
  std::unique_lock lock(mutex, std::defer_lock);
  while (!lock.try_lock_for(kLook)) host->yield();
  return lock;
}

}  // namespace

void Prepared::Share::take(std::int64_t nodes, const optimise::FoldBudget& folded) {
  PackCache::InnerPlans& plans = cache_->inner_plans();
  nodes_ += nodes;
  ops_ += folded.ops;
  bytes_ += folded.bytes;
  plans.nodes_left -= nodes;
  plans.ops_left -= folded.ops;
  plans.bytes_left -= folded.bytes;
}

Prepared::ProgramResult Prepared::plain(const kernels::ThreadPool* host) {
  const auto lock = locked(plain_.mutex, host);
  if (plain_.program == nullptr) {
    COMMENSAL_ASSIGN(Program made,
                     Program::make(graph_, isa_, cache_, Program::Form::kAsItIs, host));
    plain_.program = std::make_shared<const Program>(std::move(made));
    if (is_inner_) plain_.share.take(static_cast<std::int64_t>(graph_->nodes.size()), {0, 0});
  }
  return plain_.program;
}

std::int64_t Prepared::folded_by(const Plans& plans) {
  std::int64_t bytes = 0;
  for (const auto& plan : plans) bytes += plan->folded_bytes;
  return bytes;
}

/// Null: it is not to be had.
std::shared_ptr<const Graph> Prepared::optimised(Plan& plan,
                                                 const kernels::ThreadPool* host) const {
  if (!is_inner_) {
    optimise::FoldBudget budget{.bytes = folded_bytes_max()};
    auto made = optimise::optimised(*graph_, plan.inputs, host, budget);
    plan.folded_bytes = folded_bytes_max() - budget.bytes;
    return made;
  }
  const PackCache::InnerPlans& left = cache_->inner_plans();
  const auto nodes = static_cast<std::int64_t>(graph_->nodes.size());
  if (left.nodes_left < nodes) return nullptr;
  const optimise::FoldBudget most{std::max<std::int64_t>(left.ops_left, 0),
                                  std::max<std::int64_t>(left.bytes_left, 0)};
  optimise::FoldBudget budget = most;
  auto made = optimise::optimised(*graph_, plan.inputs, host, budget);
  plan.folded_bytes = most.bytes - budget.bytes;
  plan.share.take(nodes, {most.ops - budget.ops, plan.folded_bytes});
  return made;
}

std::int64_t Prepared::folded_bytes_max() const {
  return std::min(optimise::FoldBudget::of(*graph_).bytes, memory_bytes_max_);
}

std::int64_t Prepared::folded_bytes() {
  const std::lock_guard lock(mutex_);
  return folded_by(plans_);
}

/// Under mutex_.
bool Prepared::are_too_many() const {
  if (plans_.size() > kPlannedMax) return true;
  return plans_.size() > 1 && folded_by(plans_) > kFoldedPlansMax * folded_bytes_max();
}

Prepared::ProgramResult Prepared::make(Plan& plan, const kernels::ThreadPool* host) {
  auto graph = optimised(plan, host);
  if (graph == nullptr) return plain(host);
  COMMENSAL_ASSIGN(Program made,
                   Program::make(std::move(graph), isa_, cache_, Program::Form::kPlanned, host));
  return std::make_shared<const Program>(std::move(made));
}

Prepared::Settling::~Settling() {
  if (plan_->program == nullptr) plan_->share.give_back();  // who waited may still hold the plan
  Plans dropped;
  {
    const std::lock_guard lock(all_.mutex_);
    std::erase(all_.pending_, plan_);
    if (plan_->program != nullptr) all_.plans_.insert(all_.plans_.begin(), plan_);
    while (all_.are_too_many()) {
      dropped.push_back(std::move(all_.plans_.back()));
      all_.plans_.pop_back();
    }
  }
  if (dropped.empty() && plan_->program != nullptr) return;
  dropped.clear();
  all_.cache_->drop_unused();
}

/// Null: it is not to be kept.
std::shared_ptr<Prepared::Plan> Prepared::find(const std::vector<tensor::TensorType>& inputs) {
  const std::lock_guard lock(mutex_);
  const auto in = [&](Plans& plans) {
    return std::ranges::find(
        plans, inputs, [](const auto& plan) -> const auto& { return plan->inputs; });
  };
  if (const auto made = in(plans_); made != plans_.end()) {
    std::rotate(plans_.begin(), made, made + 1);
    return plans_.front();
  }
  if (const auto pending = in(pending_); pending != pending_.end()) return *pending;
  if (is_inner_ && plans_.size() + pending_.size() >= kPlannedMax) return nullptr;
  return pending_.emplace_back(std::make_shared<Plan>(inputs, cache_));
}

bool Prepared::is_pending(const std::shared_ptr<Plan>& plan) {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(pending_, plan) != pending_.end();
}

Prepared::ProgramResult Prepared::planned(const std::vector<tensor::TensorType>& inputs,
                                          const kernels::ThreadPool* host) {
  while (const std::shared_ptr<Plan> plan = find(inputs)) {
    const auto lock = locked(plan->mutex, host);
    if (plan->program != nullptr) return plan->program;
    if (!is_pending(plan)) continue;  // who was to make it was stopped: others may not know of it
    const Settling settling(*this, plan);
    COMMENSAL_ASSIGN(plan->program, make(*plan, host));
    return plan->program;
  }
  return plain(host);
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
