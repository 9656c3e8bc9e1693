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

std::vector<TensorType> types_of(const JointRuns::Request& request) {
  std::vector<TensorType> types;
  for (const Tensor& input : request) types.push_back(input.type());
  return types;
}

bool can_have_rows(const std::vector<TensorType>& types) {
  return !types.empty() && std::ranges::all_of(types, [&](const TensorType& type) {
    return type.dtype != tensor::DType::kString && type.shape.rank() > 0 && type.shape[0] > 0 &&
           type.shape[0] == types[0].shape[0];
  });
}

Result<TensorType> with_rows(const TensorType& type, std::int64_t rows) {
  std::vector<std::int64_t> dims(type.shape.dims().begin(), type.shape.dims().end());
  dims[0] = rows;
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
  return TensorType{type.dtype, shape};
}

/// Input `index` of all requests, one after the other.
Result<Tensor> joined(std::span<const JointRuns::Request> requests, std::size_t index) {
  const TensorType& one = requests[0][index].type();
  const auto count = static_cast<std::int64_t>(requests.size());
  COMMENSAL_ASSIGN(const TensorType type, with_rows(one, one.shape[0] * count));
  const auto bytes = std::make_shared<core::Bytes>();
  bytes->reserve(static_cast<std::size_t>(type.bytes()));
  for (const JointRuns::Request& request : requests) {
    const core::ByteView part = request[index].bytes();
    bytes->insert(bytes->end(), part.begin(), part.end());
  }
  return Tensor::view_of(type, *bytes, bytes);
}

/// The part of request `index` of `count`, copied: who keeps it keeps nothing of the others.
Result<Tensor> cut(const Tensor& all, std::size_t index, std::size_t count) {
  COMMENSAL_ASSIGN(const TensorType type,
                   with_rows(all.type(), all.shape()[0] / static_cast<std::int64_t>(count)));
  const auto size = static_cast<std::size_t>(type.bytes());
  return Tensor::copy_of(type, all.bytes().subspan(index * size, size));
}

/// Whether `all` has `rows` rows, whatever the graph declares.
bool has_rows(const Tensor& all, std::int64_t rows) {
  return all.shape().rank() > 0 && all.shape()[0] == rows;
}

}  // namespace

bool JointRuns::joins(const Request& request) {
  std::vector<TensorType> types = types_of(request);
  const auto found = std::ranges::find(judged_, types, &Judged::request);
  if (found != judged_.end()) {
    judged_.splice(judged_.begin(), judged_, found);
    return found->joins;
  }
  const bool joins = types.size() == session_.graph().inputs.size() && can_have_rows(types) &&
                     batching_objection(session_.graph(), types).empty();
  judged_.push_front({std::move(types), joins});
  if (judged_.size() > kJudgedMax) judged_.pop_back();
  return joins;
}

std::vector<JointRuns::Answer> JointRuns::run_joined(std::span<const Request> requests,
                                                     RunOptions options) {
  if (requests.size() < 2 || !joins(requests[0])) return {};
  Request inputs;
  for (std::size_t i = 0; i < requests[0].size(); ++i) {
    auto input = joined(requests, i);
    if (!input) return {};
    inputs.push_back(*std::move(input));
  }
  const auto count = static_cast<std::int64_t>(requests.size());
  options.ops_max = options.ops_max > kNoBudget / count ? kNoBudget : options.ops_max * count;
  const auto outputs = session_.run(inputs, options);
  if (!outputs) return {};
  std::vector<Answer> answers(requests.size(), std::vector<Tensor>());
  for (const Tensor& output : *outputs) {
    if (!has_rows(output, inputs[0].shape()[0])) return {};
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto part = cut(output, i, requests.size());
      if (!part) return {};
      answers[i]->push_back(*std::move(part));
    }
  }
  return answers;
}

std::vector<JointRuns::Answer> JointRuns::run(std::span<const Request> requests,
                                              const RunOptions& options) {
  std::vector<Answer> answers;
  while (!requests.empty()) {
    const auto types = types_of(requests[0]);
    const auto other =
        std::ranges::find_if(requests, [&](const Request& one) { return types_of(one) != types; });
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
