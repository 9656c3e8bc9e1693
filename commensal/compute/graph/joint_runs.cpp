// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/batching.hpp>
#include <commensal/compute/graph/joint_runs.hpp>

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

/// Whether `all` has `rows` rows, whatever the graph declares.
bool has_rows(const Tensor& all, std::int64_t rows) {
  return all.shape().rank() > 0 && all.shape()[0] == rows;
}

}  // namespace

bool JointRuns::joins(const Row& row) {
  const auto found = std::ranges::find(judged_, row, &Judged::row);
  if (found != judged_.end()) {
    judged_.splice(judged_.begin(), judged_, found);
    return found->joins;
  }
  const bool joins = row.size() == session_.graph().inputs.size() && !row.empty() &&
                     batching_objection(session_.graph(), row).empty();
  judged_.push_front({row, joins});
  if (judged_.size() > kJudgedMax) judged_.pop_back();
  return joins;
}

std::vector<JointRuns::Answer> JointRuns::run_joined(std::span<const Request> requests,
                                                     RunOptions options) {
  if (requests.size() < 2 || !joins(row_of(requests[0]))) return {};
  std::int64_t rows = 0;
  for (const Request& request : requests) {
    if (__builtin_add_overflow(rows, rows_of(request), &rows)) return {};
  }
  Request inputs;
  for (std::size_t i = 0; i < requests[0].size(); ++i) {
    auto input = joined(requests, i, rows);
    if (!input) return {};
    inputs.push_back(*std::move(input));
  }
  const auto count = static_cast<std::int64_t>(requests.size());
  options.ops_max = options.ops_max > kNoBudget / count ? kNoBudget : options.ops_max * count;
  const auto outputs = session_.run(inputs, options);
  if (!outputs) return {};
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
    auto made = run_joined(alike, options);
    if (made.empty()) {
      for (const Request& one : alike) made.push_back(session_.run(one, options));
    }
    std::ranges::move(made, std::back_inserter(answers));
  }
  return answers;
}

}  // namespace commensal::graph
