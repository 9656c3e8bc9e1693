// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/serve/provider/worker.hpp>

namespace commensal::provider {
namespace {

using core::ErrorCode;
using core::fail;

core::Result<void> check_job(const rpc::Task& task, const receipt::ModelRoots& roots) {
  const protocol::Job& job = task.job;
  if (job.numerics_version != kernels::kNumericsVersion) {
    return fail(ErrorCode::kFailedPrecondition,
                "the job asks for version {} of the numeric specification, this provider has {}",
                job.numerics_version, kernels::kNumericsVersion);
  }
  if (job.graph_root != roots.graph || job.weight_root != roots.weights) {
    return fail(ErrorCode::kFailedPrecondition, "the model is not the one that the job names");
  }
  if (job.input_commitment !=
      protocol::commit_input(receipt::state_root(task.inputs), task.input_salt)) {
    return fail(ErrorCode::kFailedPrecondition, "the inputs do not open the job's c_0");
  }
  return {};
}

}  // namespace

core::Result<std::shared_ptr<Engine>> Worker::engine_for(const core::Digest& model,
                                                         const std::string& session_token,
                                                         const core::Path& model_path) {
  const auto found = std::find_if(loaded_.begin(), loaded_.end(),
                                  [&](const Loaded& item) { return item.model == model; });
  if (found != loaded_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, found);
    return loaded_.front().engine;
  }
  if (!std::filesystem::exists(model_path)) {
    COMMENSAL_TRY(gateway_.fetch_model(session_token, model, model_path.string()));
  }
  COMMENSAL_ASSIGN(auto engine, engines_.load(model_path));
  if (loaded_.size() >= limits::kEnginesMax) loaded_.pop_back();
  loaded_.push_front({model, std::move(engine)});
  return loaded_.front().engine;
}

core::Result<Answer> Worker::run(const rpc::Task& task, const std::string& session_token,
                                 const core::Path& model_path) {
  const rpc::Task* const tasks[] = {&task};
  return std::move(run_all(tasks, session_token, model_path)[0]);
}

std::vector<core::Result<Answer>> Worker::run_all(std::span<const rpc::Task* const> tasks,
                                                  const std::string& session_token,
                                                  const core::Path& model_path) {
  std::vector<core::Result<Answer>> answers(tasks.size(), Answer{});
  const auto engine = engine_for(tasks[0]->model, session_token, model_path);
  std::vector<const tensor::NamedTensors*> requests;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto checked = engine ? check_job(*tasks[i], (*engine)->roots())
                                : core::Result<void>(tl::unexpected(engine.error()));
    if (checked) {
      requests.push_back(&tasks[i]->inputs);
    } else {
      answers[i] = tl::unexpected(checked.error());
    }
  }
  if (requests.empty()) return answers;
  auto runs = (*engine)->run_all(requests);
  auto run = runs.begin();
  for (auto& answer : answers) {
    if (!answer) continue;
    answer = std::move(*run++).map([](tensor::NamedTensors&& outputs) {
      const core::Digest root = receipt::state_root(outputs);
      return Answer{std::move(outputs), root};
    });
  }
  return answers;
}

}  // namespace commensal::provider
