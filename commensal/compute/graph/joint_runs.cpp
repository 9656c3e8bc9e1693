// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/batching.hpp>
#include <commensal/compute/graph/joint_runs.hpp>
#include <commensal/compute/graph/run_control.hpp>

namespace commensal::graph {

using core::Result;
using tensor::Tensor;
using tensor::TensorType;

namespace {

constexpr std::size_t kJudgedMax = 8;

Result<TensorType> with_rows(const TensorType& type, std::int64_t rows) {
  std::vector<std::int64_t> dims(type.shape.dims().begin(), type.shape.dims().end());
  dims[0] = rows;
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
  return TensorType{type.dtype, shape};
}

std::int64_t rows_of(const JointRuns::Request& request) { return request[0].shape()[0]; }

/// The types of a request as if it had one row; none where it has no rows that could be joined.
std::vector<TensorType> row_of(const JointRuns::Request& request) {
  std::vector<TensorType> row;
  for (const Tensor& input : request) {
    const TensorType type = input.type();
    const bool has_rows = type.dtype != tensor::DType::kString && type.shape.rank() > 0 &&
                          type.shape[0] > 0 && type.shape[0] == rows_of(request);
    if (!has_rows) return {};
    const auto one = with_rows(type, 1);
    if (!one) return {};
    row.push_back(*one);
  }
  return row;
}

/// Input `index` of all requests, one after the other.
Result<Tensor> joined(std::span<const JointRuns::Request> requests, std::size_t index,
                      std::int64_t rows) {
  COMMENSAL_ASSIGN(const TensorType type, with_rows(requests[0][index].type(), rows));
  const auto bytes = std::make_shared<core::Bytes>();
  bytes->reserve(static_cast<std::size_t>(type.bytes()));
  for (const JointRuns::Request& request : requests) {
    const core::ByteView part = request[index].bytes();
    bytes->insert(bytes->end(), part.begin(), part.end());
  }
  return Tensor::view_of(type, *bytes, bytes);
}

/// So many rows from `first` on, copied: who keeps them keeps nothing of the others.
Result<Tensor> cut(const Tensor& all, std::int64_t first, std::int64_t rows) {
  COMMENSAL_ASSIGN(const TensorType type, with_rows(all.type(), rows));
  const auto bytes = static_cast<std::size_t>(type.bytes());
  const auto row_bytes = bytes / static_cast<std::size_t>(rows);
  return Tensor::copy_of(type,
                         all.bytes().subspan(static_cast<std::size_t>(first) * row_bytes, bytes));
}

/// ops * rows / most, or a little less; no budget where no integer holds it. `rows` >= `most`.
std::int64_t times(std::int64_t ops, std::int64_t rows, std::int64_t most) {
  std::int64_t made = 0;
  const bool fits = !__builtin_mul_overflow(ops, rows / most, &made) &&
                    !__builtin_add_overflow(made, ops / most * (rows % most), &made);
  return fits ? made : kNoBudget;
}

/// Whether `all` has `rows` rows, whatever the graph declares.
bool has_rows(const Tensor& all, std::int64_t rows) {
  return all.shape().rank() > 0 && all.shape()[0] == rows;
}

}  // namespace

void JointRuns::Judged::see(std::int64_t rows, const Answer& answer) {
  if (answer) {
    rows_fit = std::max(rows_fit, rows);
  } else if (answer.error().code == core::ErrorCode::kOverBudget) {
    rows_over = std::min(rows_over, rows);
  }
}

JointRuns::Judged* JointRuns::judge(const Row& row, const RunOptions& options) {
  const auto found = std::ranges::find(judged_, row, &Judged::row);
  if (found != judged_.end()) {
    judged_.splice(judged_.begin(), judged_, found);
  } else {
    bool joins = false;
    if (row.size() == session_.graph().inputs.size() && !row.empty()) {
      RunControl control({.pacer = options.pacer == nullptr ? session_.pacer() : options.pacer,
                          .cancel = options.cancel});
      const auto objection = batching_objection(session_.graph(), row, control);
      if (!objection) return nullptr;
      joins = objection->empty();
    }
    judged_.push_front({row, joins});
    if (judged_.size() > kJudgedMax) judged_.pop_back();
  }
  Judged& judged = judged_.front();
  if (judged.ops_max != options.ops_max) judged = {row, judged.joins, options.ops_max};
  return &judged;
}

std::vector<JointRuns::Answer> JointRuns::run_joined(std::span<const Request> requests,
                                                     RunOptions options, Judged& judged) {
  if (requests.size() < 2) return {};
  std::int64_t rows = 0, most = 0;
  for (const Request& request : requests) {
    if (__builtin_add_overflow(rows, rows_of(request), &rows)) return {};
    most = std::max(most, rows_of(request));
  }
  Request inputs;
  for (std::size_t i = 0; i < requests[0].size(); ++i) {
    auto input = joined(requests, i, rows);
    if (!input) return {};
    inputs.push_back(*std::move(input));
  }
  // What one budget suffices for, each of them may have alone. Where the largest is known to keep
  // its own, the others keep theirs: together they have as many times more as they have rows.
  if (most <= judged.rows_fit) options.ops_max = times(options.ops_max, rows, most);
  const auto outputs = session_.run(inputs, options);
  if (!outputs) return {};
  judged.see(most, {});
  std::vector<Answer> answers(requests.size(), std::vector<Tensor>());
  for (const Tensor& output : *outputs) {
    if (!has_rows(output, rows)) return {};
    std::int64_t first = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto part = cut(output, first, rows_of(requests[i]));
      if (!part) return {};
      answers[i]->push_back(*std::move(part));
      first += rows_of(requests[i]);
    }
  }
  return answers;
}

std::vector<JointRuns::Answer> JointRuns::run_alike(std::span<const Request> requests,
                                                    const RunOptions& options) {
  Judged* const found = requests.size() < 2 ? nullptr : judge(row_of(requests[0]), options);
  std::vector<Request> together;
  for (const Request& one : requests) {
    const bool joins = found != nullptr && found->joins && rows_of(one) < found->rows_over;
    if (joins) together.push_back(one);
  }
  std::vector<Answer> made;
  if (found != nullptr) made = run_joined(together, options, *found);
  if (made.size() == requests.size()) return made;
  const std::int64_t rows_over = made.empty() ? 0 : found->rows_over;
  std::vector<Answer> answers;
  auto next = made.begin();
  for (const Request& one : requests) {
    if (rows_over > 0 && rows_of(one) < rows_over) {
      answers.push_back(std::move(*next++));
      continue;
    }
    answers.push_back(session_.run(one, options));
    if (found != nullptr && found->joins) found->see(rows_of(one), answers.back());
  }
  return answers;
}

std::vector<JointRuns::Answer> JointRuns::run(std::span<const Request> requests,
                                              const RunOptions& options) {
  std::vector<Answer> answers;
  while (!requests.empty()) {
    const auto row = row_of(requests[0]);
    const auto other = std::find_if(requests.begin() + 1, requests.end(), [&](const Request& one) {
      return row.empty() || row_of(one) != row;
    });
    const auto alike = requests.first(static_cast<std::size_t>(other - requests.begin()));
    requests = requests.subspan(alike.size());
    std::ranges::move(run_alike(alike, options), std::back_inserter(answers));
  }
  return answers;
}

}  // namespace commensal::graph
