// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/worker/living_worker.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <commensal/serve/worker/remote_packs.hpp>

namespace commensal::worker {

using core::ErrorCode;
using core::fail;
using core::Result;
using receipt::Values;

struct ProcessEngineFactory::Shared {
  explicit Shared(ProcessOptions from) : options(std::move(from)), starter(options.ready_thread) {}

  void say_once(const std::string& line) {
    if (!line.empty() && options.say && !has_said.exchange(true)) options.say(line);
  }

  const ProcessOptions options;
  Starter starter;
  std::atomic<bool> has_said = false;
};

namespace {

/// A model's file, open.
struct Model {
  core::Descriptor file;
  std::uint64_t bytes = 0;
  core::Digest digest{};  // where packed weights are kept, and fits
};

class ProcessEngine final : public rollout::Engine {
 public:
  ProcessEngine(std::shared_ptr<ProcessEngineFactory::Shared> shared, ProcessOptions options,
                Model model, std::vector<protocol::Feed> feeds)
      : shared_(std::move(shared)),
        options_(std::move(options)),
        model_(std::move(model)),
        feeds_(std::move(feeds)) {
    const graph::SessionOptions& session = options_.session;
    if (session.packs != nullptr) {
      packs_.emplace(*session.packs, model_.digest, limits::kWorkerModelCopiesMax * model_.bytes);
    }
  }

  /// Errors: those of the model, and of workers.
  Result<void> start(const std::stop_token& cancel);

  const receipt::ModelRoots& roots() const override { return roots_; }
  const graph::Graph& graph() const override { return *face_; }
  Result<Values> run(std::uint64_t step, const Values& inputs,
                     const std::optional<noise::Noise>& noise,
                     const graph::RunOptions& options) override;
  std::vector<Result<Values>> run_all(std::span<const Values> requests,
                                      const graph::RunOptions& options) override;
  bool joins() const override { return joins_; }
  Result<rollout::Counsel> argue(const rollout::Argument& argument,
                                 const graph::RunOptions& options) override;

 private:
  using Answers = std::vector<Result<Values>>;
  Load load_message() const;
  Result<void> ensure_worker(const std::stop_token& cancel) {
    return worker_ && worker_->is_alive() ? Result<void>() : start(cancel);
  }
  /// What is left of a run that a worker can be asked for: it has its number.
  Result<std::uint32_t> begin(const graph::RunOptions& options);
  Result<Answers> answers(Run run, std::span<const Values> requests,
                          const graph::RunOptions& options);
  Result<Result<Values>> hear_answer(Channel& channel);
  Result<Message> hear(Channel& channel) { return receive(channel, packs_ ? &*packs_ : nullptr); }

  std::shared_ptr<ProcessEngineFactory::Shared> shared_;
  const ProcessOptions options_;  // the shared ones, as they fit this model
  Model model_;
  std::vector<protocol::Feed> feeds_;
  std::optional<PackServer> packs_;
  std::shared_ptr<const graph::Graph> face_;  // and roots: once it has been loaded
  receipt::ModelRoots roots_;
  bool joins_ = false;
  tensor::Arena arena_{options_.session.memory_bytes_max};  // of outputs
  std::unique_ptr<LivingWorker> worker_;
  std::uint32_t runs_ = 0;
};

Load ProcessEngine::load_message() const {
  Load load{.session = SessionWords::of(options_.session),
            .has_packs = packs_.has_value(),
            .feeds = feeds_,
            .model_bytes = model_.bytes,
            .data_bytes_max = options_.data_bytes_max,
            .processors = options_.processors};
  if (load.data_bytes_max == 0) {
    load.data_bytes_max = limits::kWorkerBytesBase + options_.session.memory_bytes_max +
                          limits::kWorkerModelCopiesMax * static_cast<std::int64_t>(model_.bytes);
  }
  return load;
}

Result<void> ProcessEngine::start(const std::stop_token& cancel) {
  if (options_.is_held && options_.pace == nullptr) {
    return fail(ErrorCode::kUnavailable, "the system gives no memory by which to pace workers");
  }
  if (packs_) packs_->begin();
  COMMENSAL_ASSIGN(auto worker, LivingWorker::start(shared_->starter, options_));
  const std::int64_t cpu_ms_max = std::min(options_.cpu_ms_max, limits::kWorkerLoadCpuMsMax);
  COMMENSAL_ASSIGN(auto loaded, worker->exchange(
                                    {0, cancel, cpu_ms_max},
                                    [&](Channel& channel) -> Result<void> {
                                      COMMENSAL_TRY(send(channel, load_message()));
                                      return channel.send_descriptor(model_.file);
                                    },
                                    [&](Channel& channel) -> Result<Loaded> {
                                      COMMENSAL_ASSIGN(const Message message, hear(channel));
                                      return decode<Loaded>(message);
                                    }));
  if (loaded.error) return tl::unexpected(*std::move(loaded.error));
  shared_->say_once(loaded.unconfined);
  const receipt::ModelRoots roots{loaded.graph_root, loaded.weight_root};
  if (face_ && roots != roots_) {
    return fail(ErrorCode::kInternal, "a fresh worker has found another model in the same file");
  }
  if (!face_) face_ = loaded.face.graph();
  roots_ = roots;
  joins_ = loaded.joins;
  worker_ = std::move(worker);
  return {};
}

Result<Result<Values>> ProcessEngine::hear_answer(Channel& channel) {
  COMMENSAL_ASSIGN(const Message message, hear(channel));
  COMMENSAL_ASSIGN(auto answer, receive_answer(channel, message, arena_));
  if (answer && answer->size() != face_->outputs.size()) {
    return fail(ErrorCode::kDataLoss, "{} outputs, expected {}", answer->size(),
                face_->outputs.size());
  }
  return answer;
}

Result<std::uint32_t> ProcessEngine::begin(const graph::RunOptions& options) {
  if (options.tracer != nullptr) {
    return fail(ErrorCode::kUnsupported, "a run in a process of its own is not traced");
  }
  if (options.pacer != nullptr) {
    return fail(ErrorCode::kUnsupported, "a run in a process of its own has its worker's pacer");
  }
  COMMENSAL_TRY(ensure_worker(options.cancel));
  return runs_ = runs_ == UINT32_MAX ? 1 : runs_ + 1;
}

Result<ProcessEngine::Answers> ProcessEngine::answers(Run run, std::span<const Values> requests,
                                                      const graph::RunOptions& options) {
  COMMENSAL_ASSIGN(run.number, begin(options));
  run.ops_max = options.ops_max;
  for (const Values& inputs : requests) run.requests.push_back(types_of(inputs));
  auto heard = worker_->exchange(
      {run.number, options.cancel, options_.cpu_ms_max},
      [&](Channel& channel) -> Result<void> {
        COMMENSAL_TRY(send(channel, run));
        for (const Values& inputs : requests) COMMENSAL_TRY(send_elements(channel, inputs));
        return {};
      },
      [&](Channel& channel) -> Result<Answers> {
        Answers made;
        while (made.size() < requests.size()) {
          COMMENSAL_ASSIGN(auto answer, hear_answer(channel));
          made.push_back(std::move(answer));
        }
        return made;
      });
  if (!heard) worker_.reset();
  return heard;
}

Result<Values> ProcessEngine::run(std::uint64_t step, const Values& inputs,
                                  const std::optional<noise::Noise>& noise,
                                  const graph::RunOptions& options) {
  Run run{.step = step};
  if (noise) run.noise = {noise->seed, static_cast<std::uint32_t>(noise->exponent)};
  COMMENSAL_ASSIGN(Answers made, answers(std::move(run), {&inputs, 1}, options));
  return std::move(made[0]);
}

std::vector<Result<Values>> ProcessEngine::run_all(std::span<const Values> requests,
                                                   const graph::RunOptions& options) {
  auto made = answers({.is_joint = true}, requests, options);
  if (made) return *std::move(made);
  if (requests.size() == 1) return {tl::unexpected(made.error())};
  Answers alone;  // whoever brought the worker down brings down its own
  for (const Values& inputs : requests) {
    if (options.cancel.stop_requested()) {
      alone.push_back(fail(ErrorCode::kCancelled, "cancelled"));
    } else {
      alone.push_back(run(1, inputs, std::nullopt, options));
    }
  }
  return alone;
}

Result<rollout::Counsel> ProcessEngine::argue(const rollout::Argument& argument,
                                              const graph::RunOptions& options) {
  COMMENSAL_TRY(rollout::check_bounds(argument));
  Argue asked = Argue::of(argument);
  COMMENSAL_ASSIGN(asked.number, begin(options));
  asked.ops_max = options.ops_max;
  using Heard = Result<rollout::Counsel>;  // the inner error is the worker's own
  auto heard = worker_->exchange(
      {asked.number, options.cancel, options_.cpu_ms_max},
      [&](Channel& channel) -> Result<void> {
        COMMENSAL_TRY(send(channel, asked));
        return send_elements(channel, argument.inputs);
      },
      [&](Channel& channel) -> Result<Heard> {
        COMMENSAL_ASSIGN(const Message message, hear(channel));
        COMMENSAL_ASSIGN(Argued argued, decode<Argued>(message));
        Heard counsel = std::move(argued).counsel();
        if (counsel) COMMENSAL_TRY(rollout::check_counsel(argument, *counsel));
        return Result<Heard>(tl::in_place, std::move(counsel));
      });
  if (heard) return *std::move(heard);
  worker_.reset();
  return tl::unexpected(heard.error());
}

Result<Model> open_model(const core::Path& path, bool is_named) {
  core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // Opened for what it says when it is no file for a model.
  COMMENSAL_ASSIGN(const auto mapped, core::MappedFile::open(path, limits::kModelBytesMax));
  if (!file.valid()) return fail(ErrorCode::kNotFound, "cannot open '{}'", path.string());
  Model model{std::move(file), mapped->bytes().size(), {}};
  if (is_named) model.digest = crypto::sha256(mapped->bytes());
  return model;
}

}  // namespace

ProcessEngineFactory::ProcessEngineFactory(ProcessOptions options)
    : shared_(std::make_shared<Shared>(std::move(options))) {}
ProcessEngineFactory::~ProcessEngineFactory() = default;

Result<std::unique_ptr<rollout::Engine>> ProcessEngineFactory::load(
    const core::Path& model_file, const std::vector<protocol::Feed>& feeds,
    const std::stop_token& cancel) {
  ProcessOptions options = shared_->options;
  const bool is_named = options.session.packs != nullptr || !options.fits.empty();
  COMMENSAL_ASSIGN(Model model, open_model(model_file, is_named));
  if (const auto fit = options.fits.find(model.digest); is_named && fit != options.fits.end()) {
    options.session.threads = fit->second.threads;
    options.processors = fit->second.processors;
  }
  auto engine =
      std::make_unique<ProcessEngine>(shared_, std::move(options), std::move(model), feeds);
  COMMENSAL_TRY(engine->start(cancel));
  return engine;
}

void ProcessEngineFactory::forget(const core::Digest& model) {
  const auto& packs = shared_->options.session.packs;
  if (packs != nullptr) graph::PackFilesOfModel(packs->files(), model).remove_all();
}

}  // namespace commensal::worker
