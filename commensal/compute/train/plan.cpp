// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <commensal/base/core/limits_training.hpp>
#include <commensal/compute/train/plan.hpp>
#include <set>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

/// A map of YAML, each of whose keys must be one that is asked for.
class Section {
 public:
  Section(const YAML::Node& node, std::string where) : node_(node), where_(std::move(where)) {}

  bool has(const char* key) const { return node_[key].IsDefined(); }
  YAML::Node child(const char* key) const { return node_[key]; }
  std::string path(const std::string& key) const {
    return where_.empty() ? key : where_ + "." + key;
  }

  Result<void> only(std::initializer_list<std::string_view> keys) const {
    if (!node_.IsDefined() || !node_.IsMap())
      return fail(ErrorCode::kInvalidArgument, "'{}': expected a map", where_);
    std::set<std::string> seen;
    for (const auto& entry : node_) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (!seen.insert(key).second)
        return fail(ErrorCode::kInvalidArgument, "'{}' is there twice", path(key));
      if (std::ranges::find(keys, key) != keys.end()) continue;
      std::string all;
      for (const std::string_view one : keys) all += (all.empty() ? "" : ", ") + std::string(one);
      return fail(ErrorCode::kInvalidArgument, "unknown key '{}', expected {}", path(key), all);
    }
    return {};
  }

  Result<void> text(const char* key, bool must, std::string& into) const {
    const YAML::Node found = node_[key];
    if (!found.IsDefined() && !must) return {};
    if (!found.IsDefined() || !found.IsScalar() || found.Scalar().empty())
      return fail(ErrorCode::kInvalidArgument, "'{}': expected a text", path(key));
    into = found.Scalar();
    return {};
  }

  Result<void> number(const char* key, double least, double most, double& into) const {
    const YAML::Node found = node_[key];
    return found.IsDefined() ? read(found, path(key), least, most, into) : Result<void>();
  }

  Result<void> count(const char* key, std::int64_t least, std::int64_t most,
                     std::int64_t& into) const {
    double value = static_cast<double>(into);
    COMMENSAL_TRY(number(key, static_cast<double>(least), static_cast<double>(most), value));
    if (value != std::floor(value))
      return fail(ErrorCode::kInvalidArgument, "'{}': expected a whole number", path(key));
    into = static_cast<std::int64_t>(value);
    return {};
  }

  template <class T>
  Result<void> choice(const char* key, std::initializer_list<std::pair<std::string_view, T>> all,
                      T& into) const {
    std::string name;
    COMMENSAL_TRY(text(key, false, name));
    if (name.empty()) return {};
    std::string names;
    for (const auto& [one, value] : all) {
      if (one == name) {
        into = value;
        return {};
      }
      names += (names.empty() ? "" : ", ") + std::string(one);
    }
    return fail(ErrorCode::kInvalidArgument, "'{}' is '{}', expected one of {}", path(key), name,
                names);
  }

  static Result<void> read(const YAML::Node& node, const std::string& path, double least,
                           double most, double& into) {
    const std::string text = node.IsScalar() ? node.Scalar() : "";
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && end == text.c_str() + text.size();
    if (!is_number || !std::isfinite(value) || value < least || value > most) {
      return fail(ErrorCode::kInvalidArgument, "'{}' is '{}', expected a number of {} to {}", path,
                  text, least, most);
    }
    into = value;
    return {};
  }

 private:
  YAML::Node node_;
  std::string where_;
};

Result<Source> source_of(const YAML::Node& node, const std::string& where,
                         const core::Path& folder) {
  Source source;
  std::string file;
  if (node.IsScalar()) {
    file = node.Scalar();
  } else {
    const Section section(node, where);
    COMMENSAL_TRY(section.only({"file", "scale"}));
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

Result<void> read_data(const Section& all, const core::Path& folder, Plan& plan) {
  const YAML::Node data = all.child("data");
  if (!data.IsDefined() || !data.IsMap() || data.size() == 0 ||
      data.size() > limits::kTrainingSourcesMax) {
    return fail(ErrorCode::kInvalidArgument,
                "'data': expected a map from the model's inputs, and target, to files");
  }
  for (const auto& entry : data) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    COMMENSAL_ASSIGN(plan.data[name], source_of(entry.second, "data." + name, folder));
  }
  return {};
}

Result<void> read_loss(const Section& all, Plan& plan) {
  const Section loss(all.child("loss"), "loss");
  COMMENSAL_TRY(loss.only({"output", "kind"}));
  COMMENSAL_TRY(loss.text("output", true, plan.loss.output));
  return loss.choice<LossKind>("kind",
                               {{"cross_entropy", LossKind::kCrossEntropy},
                                {"mean_square", LossKind::kMeanSquare},
                                {"value", LossKind::kValue}},
                               plan.loss.kind);
}

Result<void> read_optimiser(const Section& all, Plan& plan) {
  if (!all.has("optimiser")) return {};
  const Section section(all.child("optimiser"), "optimiser");
  Optimiser& into = plan.optimiser;
  COMMENSAL_TRY(section.only({"kind", "rate", "momentum", "betas", "epsilon", "decay", "clip"}));
  COMMENSAL_TRY(section.choice<OptimiserKind>("kind",
                                              {{"sgd", OptimiserKind::kSgd},
                                               {"momentum", OptimiserKind::kMomentum},
                                               {"adamw", OptimiserKind::kAdamW}},
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
  COMMENSAL_TRY(section.only({"kind", "warmup", "end"}));
  COMMENSAL_TRY(section.choice<Schedule::Kind>("kind",
                                               {{"constant", Schedule::Kind::kConstant},
                                                {"linear", Schedule::Kind::kLinear},
                                                {"cosine", Schedule::Kind::kCosine}},
                                               plan.schedule.kind));
  COMMENSAL_TRY(section.number("warmup", 0, static_cast<double>(limits::kTrainingStepsMax),
                               plan.schedule.warmup));
  return section.number("end", 0, 1, plan.schedule.end);
}

Result<void> read_weights(const Section& all, Plan& plan) {
  const YAML::Node weights = all.child("weights");
  if (!weights.IsDefined() || (weights.IsScalar() && weights.Scalar() == "all")) return {};
  if (!weights.IsSequence() || weights.size() == 0)
    return fail(ErrorCode::kInvalidArgument, "'weights': expected all or a list of names");
  for (const YAML::Node& name : weights) {
    if (!name.IsScalar())
      return fail(ErrorCode::kInvalidArgument, "'weights': expected all or a list of names");
    plan.weights.push_back(name.Scalar());
  }
  return {};
}

Result<void> read_checkpoint(const Section& all, const core::Path& folder, Plan& plan) {
  if (!all.has("checkpoint")) return {};
  const Section section(all.child("checkpoint"), "checkpoint");
  COMMENSAL_TRY(section.only({"file", "every"}));
  std::string file;
  COMMENSAL_TRY(section.text("file", true, file));
  plan.checkpoint = folder / file;
  return section.count("every", 1, limits::kTrainingStepsMax, plan.every);
}

Result<Plan> read_all(const YAML::Node& root, const core::Path& folder) {
  Plan plan;
  const Section all(root, "");
  if (!root.IsMap()) return fail(ErrorCode::kInvalidArgument, "expected a map of settings");
  COMMENSAL_TRY(all.only({"model", "data", "loss", "optimiser", "schedule", "weights", "steps",
                          "batch", "seed", "checkpoint"}));
  std::string model;
  COMMENSAL_TRY(all.text("model", true, model));
  plan.model = folder / model;
  COMMENSAL_TRY(read_data(all, folder, plan));
  COMMENSAL_TRY(read_loss(all, plan));
  COMMENSAL_TRY(read_optimiser(all, plan));
  COMMENSAL_TRY(read_schedule(all, plan));
  COMMENSAL_TRY(read_weights(all, plan));
  COMMENSAL_TRY(all.count("steps", 1, limits::kTrainingStepsMax, plan.steps));
  COMMENSAL_TRY(all.count("batch", 1, limits::kTrainingBatchMax, plan.batch));
  std::int64_t seed = 1;
  COMMENSAL_TRY(all.count("seed", 0, limits::kTrainingSeedMax, seed));
  plan.seed = static_cast<std::uint64_t>(seed);
  COMMENSAL_TRY(read_checkpoint(all, folder, plan));
  return plan;
}

}  // namespace

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
