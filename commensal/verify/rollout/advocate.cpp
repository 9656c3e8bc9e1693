// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/rollout/advocate.hpp>

namespace commensal::rollout {

using core::ErrorCode;
using core::fail;
using core::Result;
using receipt::Values;

namespace {

/// Two that are both asked, the one that is never waited for first.
class Both final : public core::Pacer {
 public:
  Both(core::Pacer& first, core::Pacer& second) : first_(first), second_(second) {}
  bool pace(std::int64_t work_ops) override {
    return first_.pace(work_ops) && second_.pace(work_ops);
  }
  bool yield() override { return first_.yield() && second_.yield(); }

 private:
  core::Pacer& first_;
  core::Pacer& second_;
};

/// Of their own memory, which is not the caller's.
Values copies_of(const Values& values) {
  Values made;
  for (const tensor::Tensor& value : values) {
    made.push_back(tensor::Tensor::copy_of(value.type(), value.bytes()));
  }
  return made;
}

bool are_same(const Values& a, const Values& b) {
  return std::ranges::equal(a, b, [](const tensor::Tensor& x, const tensor::Tensor& y) {
    return x.type() == y.type() && std::ranges::equal(x.bytes(), y.bytes());
  });
}

bool has_texts(const Values& values) {
  return std::ranges::any_of(
      values, [](const tensor::Tensor& value) { return value.dtype() == tensor::DType::kString; });
}

}  // namespace

Advocate::Advocate(const graph::Graph& graph, std::shared_ptr<const receipt::ModelLeaves> leaves,
                   core::Pacer* pacer, Run run, Voice voice)
    : graph_(graph),
      leaves_(std::move(leaves)),
      roots_(receipt::model_roots(*leaves_)),
      pacer_(pacer),
      run_(std::move(run)),
      voice_(std::move(voice)) {}

Advocate::Advocate(graph::Session& session, std::shared_ptr<const receipt::ModelLeaves> leaves,
                   core::Pacer* pacer)
    : Advocate(session.graph(), std::move(leaves), pacer,
               [&session](const Values& inputs, const graph::RunOptions& options) {
                 return session.run(inputs, options);
               }) {
  planned_ = dispute::PlannedTrace::of(session);
  session_ = &session;
}

Result<void> Advocate::check(const Argument& argument, const graph::RunOptions& options) const {
  const protocol::Job& job = argument.setup.receipt.job;
  if (options.tracer != nullptr) {
    return fail(ErrorCode::kUnsupported, "who argues traces the runs itself");
  }
  COMMENSAL_TRY(check_bounds(argument));
  COMMENSAL_TRY(receipt::check_model(job, roots_));
  if (argument.inputs.size() != graph_.inputs.size() || has_texts(argument.inputs)) {
    return fail(ErrorCode::kInvalidArgument, "{} inputs, expected {} of numbers",
                argument.inputs.size(), graph_.inputs.size());
  }
  if (speaks_for(argument)) return {};  // what it was made of has been checked
  const auto named = receipt::name_tensors(graph_, graph_.inputs, argument.inputs);
  if (receipt::state_root(named) != argument.setup.input_root) {
    return fail(ErrorCode::kInvalidArgument, "the inputs are not those of the dispute");
  }
  return {};
}

Result<Values> Advocate::rerun(const Values& inputs, graph::Tracer& tracer, core::Pacer* pacer) {
  graph::RunOptions options = *options_;
  options.tracer = &tracer;
  core::Pacer* const host = options.pacer != nullptr ? options.pacer : pacer_;
  if (pacer == nullptr || host == nullptr) {
    options.pacer = pacer != nullptr ? pacer : options.pacer;
    return run_(inputs, options);
  }
  Both both(*pacer, *host);
  options.pacer = &both;
  return run_(inputs, options);
}

bool Advocate::speaks_for(const Argument& argument) const {
  return player_ != nullptr && setup_ == argument.setup && side_ == argument.side &&
         are_same(inputs_, argument.inputs);
}

Result<void> Advocate::prepare(const Argument& argument) {
  if (speaks_for(argument)) return {};
  forget();
  dispute::Hand hand;
  hand.side = argument.side;
  hand.graph = std::shared_ptr<const graph::Graph>(std::shared_ptr<void>(), &graph_);
  hand.model = leaves_;
  Values inputs = copies_of(argument.inputs);
  hand.inputs = inputs;
  hand.rerun = [this, inputs](graph::Tracer& tracer, core::Pacer* pacer) {
    return rerun(inputs, tracer, pacer);
  };
  hand.planned = planned_;
  hand.run_other = [this](graph::Prepared& other, std::span<const tensor::Tensor> given) {
    return session_->run_other(other, given, *options_);
  };
  COMMENSAL_ASSIGN(dispute::Player player, dispute::Player::prepare(std::move(hand), threads_));
  player_ =
      voice_ ? voice_(std::move(player)) : std::make_unique<dispute::Player>(std::move(player));
  setup_ = argument.setup;
  side_ = argument.side;
  inputs_ = std::move(inputs);
  return {};
}

Result<Counsel> Advocate::argue(const Argument& argument, const graph::RunOptions& options) {
  COMMENSAL_TRY(check(argument, options));
  arbiter::Setup setup = argument.setup;
  setup.move_ms_max = arbiter::Setup().move_ms_max;
  COMMENSAL_TRY(course_.open(setup));
  if (const auto came = course_.go_to(argument.moves); !came) {
    return fail(ErrorCode::kFailedPrecondition, "the dispute: {}", came.error().message);
  }
  options_ = &options;
  COMMENSAL_TRY(prepare(argument));
  Counsel counsel{player_->output_root(), {}};
  COMMENSAL_ASSIGN(counsel.move, player_->answer(course_.referee()));
  if (course_.referee().outcome()) forget();
  return counsel;
}

}  // namespace commensal::rollout
