// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_training.hpp>
#include <commensal/compute/train/plan.hpp>
#include <commensal/compute/train/section.hpp>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

/// All that a file may say, docs/training.md too; what is between dots is a section, * any name.
constexpr std::string_view kKeys[] = {
    "model",
    "data.*",
    "data.*.file",
    "data.*.scale",
    "loss.output",
    "loss.kind",
    "loss.ignore",
    "loss.smoothing",
    "optimiser.kind",
    "optimiser.rate",
    "optimiser.momentum",
    "optimiser.betas",
    "optimiser.epsilon",
    "optimiser.decay",
    "optimiser.clip",
    "schedule.kind",
    "schedule.warmup",
    "schedule.end",
    "weights",
    "adapters.rank",
    "adapters.scale",
    "adapters.weights",
    "adapters.export",
    "steps",
    "batch",
    "accumulate",
    "recompute",
    "seed",
    "evaluate.last",
    "evaluate.data",
    "evaluate.every",
    "checkpoint.file",
    "checkpoint.every",
};

/// Those of a section, "" of the file itself.
std::vector<std::string_view> keys_of(std::string_view section) {
  std::vector<std::string_view> made;
  for (std::string_view key : kKeys) {
    if (!section.empty()) {
      if (!key.starts_with(section) || key.substr(section.size(), 1) != ".") continue;
      key.remove_prefix(section.size() + 1);
    }
    key = key.substr(0, key.find('.'));
    if (std::ranges::find(made, key) == made.end()) made.push_back(key);
  }
  return made;
}

Result<Source> source_of(const YAML::Node& node, const std::string& where,
                         const core::Path& folder) {
  Source source;
  std::string file;
  if (node.IsScalar()) {
    file = node.Scalar();
  } else {
    const Section section(node, where);
    COMMENSAL_TRY(section.only(keys_of("data.*")));
    COMMENSAL_TRY(section.text("file", true, file));
    COMMENSAL_TRY(section.number("scale", -1e9, 1e9, source.scale));
  }
  if (file.empty()) return fail(ErrorCode::kInvalidArgument, "'{}': expected a file", where);
  if (const std::size_t at = file.rfind('#'); at != std::string::npos) {
    source.member = file.substr(at + 1);
    file.resize(at);
  }
  source.file = folder / file;
  return source;
}

Result<void> read_data(const Section& all, const core::Path& folder, Sources& into) {
  const YAML::Node data = all.child("data");
  if (!data.IsDefined() || !data.IsMap() || data.size() == 0 ||
      data.size() > limits::kTrainingSourcesMax) {
    return fail(ErrorCode::kInvalidArgument,
                "'{}': expected a map from the model's inputs, and target, to files",
                all.path("data"));
  }
  for (const auto& entry : data) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const std::string where = all.path("data") + "." + name;
    if (into.contains(name))
      return fail(ErrorCode::kInvalidArgument, "line {}: '{}' is there twice",
                  entry.first.Mark().line + 1, where);
    COMMENSAL_ASSIGN(into[name], source_of(entry.second, where, folder));
  }
  return {};
}

Result<void> read_loss(const Section& all, Plan& plan) {
  const Section loss(all.child("loss"), "loss");
  COMMENSAL_TRY(loss.only(keys_of("loss")));
  COMMENSAL_TRY(loss.text("output", true, plan.loss.output));
  COMMENSAL_TRY(loss.choice<LossKind>("kind",
                                      {{"cross_entropy", LossKind::kCrossEntropy},
                                       {"mean_square", LossKind::kMeanSquare},
                                       {"value", LossKind::kValue}},
                                      plan.loss.kind));
  COMMENSAL_TRY(loss.number("smoothing", 0, 1, plan.loss.smoothing));
  if (loss.has("ignore")) {
    std::int64_t ignored = 0;
    COMMENSAL_TRY(
        loss.count("ignore", -limits::kTrainingClassMax, limits::kTrainingClassMax, ignored));
    plan.loss.ignored = ignored;
  }
  const bool is_of_classes = loss.has("ignore") || loss.has("smoothing");
  if (!is_of_classes || plan.loss.kind == LossKind::kCrossEntropy) return {};
  return fail(ErrorCode::kInvalidArgument,
              "'loss': ignore and smoothing are of kind cross_entropy alone");
}

Result<void> read_optimiser(const Section& all, Plan& plan) {
  if (!all.has("optimiser")) return {};
  const Section section(all.child("optimiser"), "optimiser");
  Optimiser& into = plan.optimiser;
  COMMENSAL_TRY(section.only(keys_of("optimiser")));
  COMMENSAL_TRY(section.choice<OptimiserKind>("kind",
                                              {{"sgd", OptimiserKind::kSgd},
                                               {"momentum", OptimiserKind::kMomentum},
                                               {"nesterov", OptimiserKind::kNesterov},
                                               {"adamw", OptimiserKind::kAdamW},
                                               {"adagrad", OptimiserKind::kAdagrad}},
                                              into.kind));
  COMMENSAL_TRY(section.number("rate", 0, 1e6, into.rate));
  COMMENSAL_TRY(section.number("momentum", 0, 1, into.momentum));
  COMMENSAL_TRY(section.number("epsilon", 0, 1, into.epsilon));
  COMMENSAL_TRY(section.number("decay", 0, 1e3, into.decay));
  COMMENSAL_TRY(section.number("clip", 0, 1e9, into.clip));
  if (!section.has("betas")) return {};
  const YAML::Node betas = section.child("betas");
  if (!betas.IsSequence() || betas.size() != 2)
    return fail(ErrorCode::kInvalidArgument, "'optimiser.betas': expected two numbers");
  COMMENSAL_TRY(Section::read(betas[0], "optimiser.betas", 0, 0.999999, into.beta1));
  return Section::read(betas[1], "optimiser.betas", 0, 0.999999, into.beta2);
}

Result<void> read_schedule(const Section& all, Plan& plan) {
  if (!all.has("schedule")) return {};
  const Section section(all.child("schedule"), "schedule");
  COMMENSAL_TRY(section.only(keys_of("schedule")));
  COMMENSAL_TRY(section.choice<Schedule::Kind>("kind",
                                               {{"constant", Schedule::Kind::kConstant},
                                                {"linear", Schedule::Kind::kLinear},
                                                {"cosine", Schedule::Kind::kCosine}},
                                               plan.schedule.kind));
  COMMENSAL_TRY(section.number("warmup", 0, static_cast<double>(limits::kTrainingStepsMax),
                               plan.schedule.warmup));
  return section.number("end", 0, 1, plan.schedule.end);
}

constexpr const char* kNames = "all or a list of names, in which * stands for anything";

Result<void> read_weights(const Section& all, Plan& plan) {
  const YAML::Node weights = all.child("weights");
  if (!weights.IsDefined() || (weights.IsScalar() && weights.Scalar() == "all")) return {};
  return all.texts("weights", kNames, plan.weights);
}

Result<void> read_recompute(const Section& all, Plan& plan) {
  const YAML::Node node = all.child("recompute");
  if (!node.IsDefined() || !node.IsScalar())
    return all.texts("recompute", "true, false or a list of values", plan.recompute.names);
  if (node.Scalar() != "true" && node.Scalar() != "false") {
    return fail(ErrorCode::kInvalidArgument,
                "'recompute' is '{}', expected true, false or a list of values", node.Scalar());
  }
  plan.recompute.all = node.Scalar() == "true";
  return {};
}

Result<void> read_adapters(const Section& all, Plan& plan) {
  if (!all.has("adapters")) return {};
  const Section section(all.child("adapters"), "adapters");
  Adapters made;
  COMMENSAL_TRY(section.only(keys_of("adapters")));
  COMMENSAL_TRY(section.count("rank", 1, limits::kTrainingRankMax, made.rank));
  COMMENSAL_TRY(section.texts("weights", kNames, made.weights));
  COMMENSAL_TRY(section.number("scale", -1e6, 1e6, made.scale));
  COMMENSAL_TRY(section.choice<bool>("export", {{"merge", true}, {"keep", false}}, made.merges));
  plan.adapters = std::move(made);
  return {};
}

Result<void> read_evaluate(const Section& all, const core::Path& folder, Plan& plan) {
  if (!all.has("evaluate")) return {};
  const Section section(all.child("evaluate"), "evaluate");
  COMMENSAL_TRY(section.only(keys_of("evaluate")));
  if (section.has("data") == section.has("last")) {
    return fail(ErrorCode::kInvalidArgument,
                "'evaluate': expected either data, or last: so many of the samples that there are");
  }
  Plan::HeldOut made;
  if (section.has("data")) COMMENSAL_TRY(read_data(section, folder, made.data));
  COMMENSAL_TRY(section.count("last", 1, limits::kTrainingHeldOutMax, made.last));
  COMMENSAL_TRY(section.count("every", 1, limits::kTrainingStepsMax, made.every));
  plan.evaluate = std::move(made);
  return {};
}

Result<void> read_batch(const Section& all, Plan& plan) {
  COMMENSAL_TRY(all.count("steps", 1, limits::kTrainingStepsMax, plan.steps));
  COMMENSAL_TRY(all.count("batch", 1, limits::kTrainingBatchMax, plan.batch));
  COMMENSAL_TRY(all.count("accumulate", 1, limits::kTrainingPartsMax, plan.accumulate));
  if (plan.batch % plan.accumulate == 0) return {};
  return fail(ErrorCode::kInvalidArgument,
              "'batch' is {}, expected a multiple of 'accumulate', which is {}", plan.batch,
              plan.accumulate);
}

Result<void> read_checkpoint(const Section& all, const core::Path& folder, Plan& plan) {
  if (!all.has("checkpoint")) return {};
  const Section section(all.child("checkpoint"), "checkpoint");
  COMMENSAL_TRY(section.only(keys_of("checkpoint")));
  std::string file;
  COMMENSAL_TRY(section.text("file", true, file));
  plan.checkpoint = folder / file;
  return section.count("every", 1, limits::kTrainingStepsMax, plan.every);
}

Result<Plan> read_all(const YAML::Node& root, const core::Path& folder) {
  Plan plan;
  const Section all(root, "");
  if (!root.IsMap()) return fail(ErrorCode::kInvalidArgument, "expected a map of settings");
  COMMENSAL_TRY(all.only(keys_of("")));
  std::string model;
  COMMENSAL_TRY(all.text("model", true, model));
  plan.model = folder / model;
  COMMENSAL_TRY(read_data(all, folder, plan.data));
  COMMENSAL_TRY(read_loss(all, plan));
  COMMENSAL_TRY(read_optimiser(all, plan));
  COMMENSAL_TRY(read_schedule(all, plan));
  COMMENSAL_TRY(read_weights(all, plan));
  COMMENSAL_TRY(read_batch(all, plan));
  COMMENSAL_TRY(read_recompute(all, plan));
  COMMENSAL_TRY(read_adapters(all, plan));
  COMMENSAL_TRY(read_evaluate(all, folder, plan));
  std::int64_t seed = 1;
  COMMENSAL_TRY(all.count("seed", 0, limits::kTrainingSeedMax, seed));
  plan.seed = static_cast<std::uint64_t>(seed);
  COMMENSAL_TRY(read_checkpoint(all, folder, plan));
  return plan;
}

}  // namespace

std::vector<std::string> plan_keys() { return {std::begin(kKeys), std::end(kKeys)}; }

Result<Plan> parse_plan(const std::string& text, const core::Path& folder) {
  try {
    return read_all(YAML::Load(text), folder);
  } catch (const YAML::Exception& error) {  // its only way to say so
    return fail(ErrorCode::kInvalidArgument, "not YAML: line {}: {}", error.mark.line + 1,
                error.msg);
  }
}

Result<Plan> read_plan(const core::Path& path) {
  COMMENSAL_ASSIGN(const auto bytes, core::read_file(path, limits::kTrainingPlanBytesMax));
  auto plan = parse_plan(std::string(core::as_text(bytes)), path.parent_path());
  if (!plan) return core::in_context(path.string(), plan.error());
  return plan;
}

}  // namespace commensal::train
