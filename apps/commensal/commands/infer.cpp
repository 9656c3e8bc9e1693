// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/card_rules.hpp>
#include <apps/commensal/connection.hpp>
#include <apps/commensal/model_name.hpp>
#include <apps/commensal/picture_options.hpp>
#include <apps/commensal/privacy_options.hpp>
#include <apps/commensal/waiting.hpp>
#include <apps/common/command.hpp>
#include <apps/common/inputs.hpp>
#include <apps/common/outputs.hpp>
#include <apps/common/terminal.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/tensor/score_extent.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct InferArguments {
  std::string model;
  std::uint32_t version = 0;
  std::vector<std::string> files;  // beside those with --input
  std::vector<std::string> inputs;
  bool no_card = false;
  const CLI::App* app = nullptr;  // says which options were given
  io::PictureRule image;
  Reading reading;
  std::string output_dir;
  std::string nonce_file;
  std::string privacy_class;
  bool hash_only = false;
  Connection connection;
  bool json = false;
};

Result<void> check_labels(const client::ModelInfo& model, const Reading& reading) {
  if (reading.labels_file.empty()) return {};
  const std::size_t labels = reading.labels.size();
  const auto may_fit = [&](const client::Port& port) {
    return tensor::may_have_labels(port.dims, labels);
  };
  if (std::ranges::any_of(model.outputs, may_fit)) return {};
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "'{}' has {} labels, which fits no output of the model", reading.labels_file,
                    labels);
}

/// A secret of the consumer's in a new file, so that it cannot be asked for what is lost.
Result<core::Digest> commit_to_draw(const std::string& file) {
  if (file.empty()) return core::Digest{};
  if (std::filesystem::exists(file)) {
    return core::fail(core::ErrorCode::kAlreadyExists,
                      "'{}' is there already: each answer has a nonce of its own; another name, "
                      "or remove it if no answer came of it",
                      file);
  }
  core::SystemRng rng;
  const core::Digest nonce = rng.next_digest();
  COMMENSAL_TRY(
      core::write_file_atomically(file, core::as_bytes(core::to_hex(nonce) + "\n"), 0600));
  return protocol::commit_nonce(nonce);
}

/// What the model's card says of the request, where the options say nothing.
Result<void> go_by_card(client::Client& client, const std::string& name, InferArguments& options,
                        graph::Graph& wanted) {
  options.inputs.insert(options.inputs.end(), options.files.begin(), options.files.end());
  if (options.no_card) return {};
  COMMENSAL_ASSIGN(const auto card, client.card(name));
  if (!card) return {};
  if (!card->problem.empty()) {
    fmt::print(stderr, "its card is left out: {}\n", for_terminal(card->problem));
    return {};
  }
  COMMENSAL_TRY(apply_card(*options.app, *card, options.image, options.reading));
  if (!card->picture) return {};
  fix_size(*card->picture, wanted);
  for (std::string& input : options.inputs) input = named_input(*card->picture, wanted, input);
  return {};
}

Result<client::Answer> ask(InferArguments& options) {
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  COMMENSAL_ASSIGN(const std::string name, full_model_name(client, options.model));
  COMMENSAL_ASSIGN(const client::ModelInfo model, look_up(client, {name, options.version}));
  COMMENSAL_TRY(check_labels(model, options.reading));
  graph::Graph wanted = ports_graph(model);
  COMMENSAL_TRY(go_by_card(client, name, options, wanted));
  std::vector<std::string> outputs;
  for (const client::Port& port : model.outputs) outputs.push_back(port.name);
  if (!options.output_dir.empty())
    COMMENSAL_TRY(keep_inputs(outputs, options.output_dir, options.inputs));
  COMMENSAL_ASSIGN(std::vector<tensor::Tensor> values,
                   read_inputs(wanted, options.inputs, options.image));
  tensor::NamedTensors inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    inputs.push_back({model.inputs[i].name, std::move(values[i])});
  }
  COMMENSAL_ASSIGN(const core::Digest commitment, commit_to_draw(options.nonce_file));
  const Waiting waiting(options.connection, name);
  return client.infer(name, options.version, inputs, commitment, options.privacy_class);
}

/// Whether what is asked for can be used: before it costs anything.
Result<void> check_uses(InferArguments& options) {
  COMMENSAL_TRY(read_labels(options.reading));
  return options.output_dir.empty() ? Result<void>{} : write_outputs({}, options.output_dir);
}

Result<int> infer(InferArguments& options) {
  COMMENSAL_ASSIGN(const ModelName named, read_model_name(options.model, options.version));
  options.model = named.model;
  options.version = named.version;
  COMMENSAL_TRY(check_uses(options));
  COMMENSAL_ASSIGN(const client::Answer answer, ask(options));
  // It is paid for: whatever cannot be done with it, it is shown.
  const Result<void> labelled = fit_labels(options.reading, answer.outputs);
  const Result<void> written = options.output_dir.empty()
                                   ? Result<void>{}
                                   : write_outputs(answer.outputs, options.output_dir);
  const std::string receipt = core::to_hex(answer.receipt);
  const std::string provider = crypto::to_text(answer.provider);
  if (options.json) {
    Json report = {{"model", answer.model},
                   {"version", answer.version},
                   {"receipt", receipt},
                   {"provider", provider}};
    if (!answer.privacy_class.empty()) report["privacy_class"] = answer.privacy_class;
    report["outputs"] = outputs_json(answer.outputs, options.reading);
    fmt::print("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
  } else if (options.hash_only) {
    print_hashes(answer.outputs);
  } else {
    print_outputs(answer.outputs, options.reading);
    const std::string placed =
        answer.privacy_class.empty() ? "" : ", privacy class " + answer.privacy_class;
    fmt::print("{} version {}, by provider {}{}\nreceipt {}\n", answer.model, answer.version,
               provider, placed, receipt);
  }
  COMMENSAL_TRY(labelled);
  COMMENSAL_TRY(written);
  return 0;
}

}  // namespace

Run declare_infer(CLI::App& app) {
  const auto options = std::make_shared<InferArguments>();
  app.add_option("model", options->model, "[OWNER/]MODEL[:VERSION]; without OWNER, one's own")
      ->required();
  app.add_option("files", options->files, "As --input: a picture, for example");
  app.add_option("--version", options->version, "Of the model; 0: the newest")
      ->capture_default_str();
  app.add_option(
         "--input", options->inputs,
         "[NAME=]FILE, once for each input; .npy, .npz[:member], .pb, .jpg, .png, .pgm, .ppm")
      ->allow_extra_args(false);
  declare_picture(app, options->image);
  options->reading.declare(app);
  app.add_flag(
      "--no-card", options->no_card,
      "Do not ask for the model's card, which says how pictures are read, what labels there "
      "are, and the softmax and top of an answer, where no option does");
  options->app = &app;
  app.add_option("--output-dir", options->output_dir, "Folder for the outputs, as NAME.npy");
  app.add_option("--nonce-file", options->nonce_file,
                 "New file for a secret that has a part in who audits the answer, should it be "
                 "accused: case disclose")
      ->check(CLI::Validator(
          [](std::string& file) {
            return file.empty() ? std::string("expected a file's name") : std::string();
          },
          ""));
  declare_privacy_class(app, options->privacy_class);
  app.add_flag("--hash", options->hash_only, "Print each output's SHA-256 only");
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return infer(*options); };
}

}  // namespace commensal::apps
