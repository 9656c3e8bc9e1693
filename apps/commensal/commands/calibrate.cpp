// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/picture_options.hpp>
#include <apps/commensal/samples.hpp>
#include <apps/common/backend_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/feeds.hpp>
#include <apps/common/progress.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/verify/noise/calibrate.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;
using noise::Cached;
using noise::Calibration;

struct CalibrateArguments {
  std::string model;
  std::vector<std::string> data;
  std::string labels;
  std::vector<std::string> state;
  std::string output;
  std::size_t samples_max = 400;
  int seeds = 16;
  double agreement = 0.999;
  io::PictureRule image;
  BackendOptions backend;
  bool json = false;
};

Json by_kind(const std::array<double, noise::kCachedKinds>& shares) {
  Json made;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    made[std::string(noise::name_of(static_cast<Cached>(i)))] = shares[i];
  }
  return made;
}

void print_json(const Calibration& made, const noise::Samples& samples, int seeds) {
  const bool is_labelled = !samples.labels.empty();
  Json rungs = Json::array();
  for (const noise::Rung& rung : made.rungs) {
    rungs.push_back({{"exponent", rung.exponent},
                     {"bits_changed", by_kind(rung.bits_changed)},
                     {"answers_repeated", by_kind(rung.answers_repeated)},
                     {"agreement", rung.agreement},
                     {"accuracy", is_labelled ? Json(rung.accuracy) : Json()},
                     {"felt", rung.is_felt},
                     {"borne", rung.is_borne}});
  }
  const Json report = {{"samples", samples.inputs.size()},
                       {"seeds", seeds},
                       {"accuracy", is_labelled ? Json(made.plain_accuracy) : Json()},
                       {"rungs", rungs},
                       {"exponent", made.exponent ? Json(*made.exponent) : Json()},
                       {"why", made.why}};
  fmt::print("{}\n", report.dump(2));
}

void print_text(const Calibration& made, bool is_labelled) {
  fmt::print(
      "          share of output bits changed       answers\n"
      "scale    honest    zero    mean largest   the same{}\n",
      is_labelled ? "   right" : "");
  for (const noise::Rung& rung : made.rungs) {
    fmt::print("2^-{:<4}", rung.exponent);
    for (const double share : rung.bits_changed) fmt::print(" {:>7.3f}", share);
    fmt::print("   {:>8.4f}", rung.agreement);
    if (is_labelled) fmt::print(" {:>7.4f}", rung.accuracy);
    fmt::print("{}{}\n", rung.is_felt ? "" : "  some output repeats",
               rung.is_borne ? "" : "  answers change");
  }
  if (is_labelled)
    fmt::print("without noise {:.4f} of the answers are right\n", made.plain_accuracy);
  if (made.exponent) fmt::print("2^-{}: {}\n", *made.exponent, made.why);
}

/// The output of that name, or the first floating one that is not fed back, or that is.
Result<std::uint32_t> task_output(const graph::Graph& graph, const std::string& name,
                                  const std::vector<protocol::Feed>& feeds) {
  if (!name.empty()) return find_output(graph, name);
  std::optional<std::uint32_t> fed;
  for (std::uint32_t i = 0; i < graph.outputs.size(); ++i) {
    const auto id = static_cast<std::size_t>(graph.outputs[i]);
    if (!noise::is_disturbable(graph.values[id].declared.dtype)) continue;
    if (std::ranges::find(feeds, i, &protocol::Feed::output) == feeds.end()) return i;
    if (!fed) fed = i;
  }
  if (fed) return *fed;
  return core::fail(core::ErrorCode::kUnsupported, "the model has no floating output");
}

Result<int> calibrate(const CalibrateArguments& options) {
  auto imported = graph::onnx::import_file(options.model);
  if (!imported) return core::in_context(fmt::format("'{}'", options.model), imported.error());
  const graph::Graph& graph = **imported;
  COMMENSAL_ASSIGN(auto feeds, read_feeds(graph, options.state));
  noise::CalibrationOptions wanted;
  wanted.exponents = noise::ladder();
  wanted.seeds = options.seeds;
  wanted.agreement_min = options.agreement;
  COMMENSAL_ASSIGN(wanted.task_output, task_output(graph, options.output, feeds));
  noise::Samples samples;
  COMMENSAL_ASSIGN(samples.inputs,
                   read_samples(graph, options.data, options.image, options.samples_max));
  if (!options.labels.empty()) {
    COMMENSAL_ASSIGN(samples.labels, read_labels(options.labels, options.samples_max));
  }
  COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(*imported, options.backend.session(),
                                                             std::move(feeds)));
  Progress progress("calibrate");
  COMMENSAL_ASSIGN(
      const Calibration made,
      noise::calibrate(session, samples, wanted,
                       [&](std::size_t done, std::size_t total) { progress.show(done, total); }));
  progress.clear();
  if (options.json) {
    print_json(made, samples, options.seeds);
  } else {
    print_text(made, !samples.labels.empty());
  }
  if (!made.exponent) return core::fail(core::ErrorCode::kFailedPrecondition, "{}", made.why);
  return 0;
}

}  // namespace

Run declare_calibrate(CLI::App& app) {
  const auto options = std::make_shared<CalibrateArguments>();
  app.add_option("model", options->model, "ONNX file")->required();
  app.add_option(
         "--data", options->data,
         "[NAME=]PATH, once for each input: an .npy file with samples along its first axis, "
         "or a folder with a file for each")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--labels", options->labels, ".npy of integers: the right answer to each sample");
  app.add_option("--state", options->state,
                 "OUTPUT=INPUT: what a rollout of this model feeds back, so that noise goes there")
      ->allow_extra_args(false);
  app.add_option("--output", options->output,
                 "Whose largest element along the last axis is the answer; default: the first "
                 "floating one that is not fed back");
  app.add_option("--samples", options->samples_max, "At most so many samples")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seeds", options->seeds, "Seeds of noise for each fake input")
      ->check(CLI::Range(2, 1 << 16))
      ->capture_default_str();
  app.add_option("--agreement", options->agreement,
                 "Share of answers that must stay as they are without noise")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  declare_picture(app, options->image);
  options->backend.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return calibrate(*options); };
}

}  // namespace commensal::apps
