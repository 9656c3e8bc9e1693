// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/provider/tasks.hpp>
#include <limits>
#include <utility>

namespace commensal::provider {
namespace {

/// But for its rows.
bool is_alike(const tensor::NamedTensor& a, const tensor::NamedTensor& b) {
  const tensor::TensorType one = a.value.type(), other = b.value.type();
  if (a.name != b.name || one.dtype != other.dtype) return false;
  const auto dims = one.shape.dims(), others = other.shape.dims();
  if (dims.size() != others.size()) return false;
  return dims.empty() || std::ranges::equal(dims.subspan(1), others.subspan(1));
}

/// Whether one run may serve both: of one model, with inputs of which it may be able to join rows.
bool go_together(const Task& a, const Task& b) {
  return a.is_joint() && b.is_joint() && a.model == b.model && a.ops_max == b.ops_max &&
         a.job->job().feeds == b.job->job().feeds &&
         std::ranges::equal(a.job->inputs(), b.job->inputs(), is_alike);
}

}  // namespace

std::int64_t Task::rows() const {
  const tensor::NamedTensors& inputs = job->inputs();
  if (inputs.empty() || inputs[0].value.shape().rank() == 0) return 1;
  return inputs[0].value.shape()[0];
}

bool WaitingTasks::add(TaskPtr task) {
  const bool waits = task->waits();
  waiting_.push_back({task, !waits});
  if (!waits) return true;
  const auto first = std::ranges::find_if(
      waiting_, [&](const Waiting& one) { return go_together(*one.task, *task); });
  const Batch batch = batch_of(first->task);
  if (!batch.is_whole) return false;
  for (Waiting& one : waiting_) {
    if (std::ranges::find(batch.tasks, one.task) != batch.tasks.end()) one.is_due = true;
  }
  return waiting_.back().is_due;
}

bool WaitingTasks::release(const TaskPtr& task) {
  const auto found = std::ranges::find(waiting_, task, &Waiting::task);
  if (found == waiting_.end()) return false;
  found->is_due = true;
  return true;
}

std::size_t WaitingTasks::held() const {
  return static_cast<std::size_t>(
      std::ranges::count(waiting_, false, [](const Waiting& one) { return one.is_due; }));
}

std::vector<TaskPtr> WaitingTasks::take_withdrawn() {
  std::vector<TaskPtr> taken;
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.task->is_withdrawn()) taken.push_back(one.task);
    return one.task->is_withdrawn();
  });
  return taken;
}

/// The oldest of whose turn is the longest ago; who has not waited before has had none.
TaskPtr WaitingTasks::first_in_turn() {
  std::map<crypto::Address, std::uint64_t> turns;
  TaskPtr first;
  std::uint64_t longest_ago = 0;
  for (const auto& [task, is_due] : waiting_) {
    const auto last = turns_.find(task->client());
    const std::uint64_t turn = last == turns_.end() ? 0 : last->second;
    turns.emplace(task->client(), turn);
    if (!is_due || (first && turn >= longest_ago)) continue;
    first = task;
    longest_ago = turn;
  }
  turns_ = std::move(turns);
  if (first) turns_[first->client()] = ++turn_;
  return first;
}

/// In the order of the queue, until the next one would be too much. A preferred number of rows that
/// can be had is had, the largest.
WaitingTasks::Batch WaitingTasks::batch_of(const TaskPtr& first) const {
  const rpc::Batching any{.rows_max = std::numeric_limits<std::uint32_t>::max(), .preferred = {}};
  const rpc::Batching& wished = first->batching ? *first->batching : any;
  const auto is_preferred = [&](std::int64_t rows) {
    return std::ranges::any_of(wished.preferred,
                               [&](std::uint32_t one) { return std::cmp_equal(one, rows); });
  };
  const std::size_t at_once = first->is_joint() ? at_once_.of(first->model) : 1;
  Batch batch{{first}};
  std::int64_t rows = first->rows();
  std::size_t preferred = is_preferred(rows) ? 1 : 0;
  batch.is_whole = at_once <= 1 || std::cmp_greater_equal(rows, wished.rows_max);
  for (auto at = waiting_.begin(); at != waiting_.end() && !batch.is_whole; ++at) {
    if (at->task == first || !go_together(*first, *at->task)) continue;
    const std::int64_t more = at->task->rows();
    batch.is_whole = std::cmp_greater(more, wished.rows_max - rows);
    if (batch.is_whole) break;
    batch.tasks.push_back(at->task);
    rows += more;
    if (is_preferred(rows)) preferred = batch.tasks.size();
    batch.is_whole = batch.tasks.size() >= at_once || std::cmp_greater_equal(rows, wished.rows_max);
  }
  if (preferred == 0) return batch;
  batch.tasks.resize(preferred);
  batch.is_whole = true;
  return batch;
}

std::vector<TaskPtr> WaitingTasks::take() {
  const TaskPtr first = first_in_turn();
  if (!first) return {};
  std::vector<TaskPtr> taken = batch_of(first).tasks;
  std::erase_if(waiting_, [&](const Waiting& one) {
    return std::ranges::find(taken, one.task) != taken.end();
  });
  return taken;
}

}  // namespace commensal::provider
