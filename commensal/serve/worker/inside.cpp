// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <commensal/base/crypto/chacha20.hpp>
#include <commensal/serve/worker/cancelling.hpp>
#include <commensal/serve/worker/inside.hpp>
#include <commensal/serve/worker/layout.hpp>
#include <commensal/serve/worker/messages.hpp>
#include <commensal/serve/worker/remote_packs.hpp>
#include <commensal/serve/worker/sandbox.hpp>
#include <commensal/verify/rollout/loaded.hpp>
#include <cstdlib>
#include <new>
#include <thread>

namespace commensal::worker {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

/// For what is called when memory runs out, which has no other way to know it.
std::atomic<std::uint32_t>* out_of_memory = nullptr;

[[noreturn]] void end_for_memory() {
  out_of_memory->store(1);
  std::abort();
}

/// All threads that are started from now on. Where the system refuses, they run on any: slower, or
/// more in the host's way, but the same.
void stay_on(const std::vector<std::uint32_t>& processors) {
  cpu_set_t some;
  CPU_ZERO(&some);
  for (const std::uint32_t processor : processors) {
    if (processor < CPU_SETSIZE) CPU_SET(processor, &some);
  }
  if (CPU_COUNT(&some) > 0) (void)::sched_setaffinity(0, sizeof some, &some);
}

Result<std::unique_ptr<rollout::Engine>> honest_engine(
    std::shared_ptr<const core::MappedFile> model, const graph::SessionOptions& session,
    const std::vector<protocol::Feed>& feeds) {
  COMMENSAL_ASSIGN(rollout::Loaded made, rollout::load(std::move(model), session, feeds));
  return std::make_unique<rollout::SessionEngine>(std::move(made.session), std::move(made.leaves));
}

/// One worker at work.
class Worker {
 public:
  Worker(SharedPages& pages, Channel& channel, const Inside& inside)
      : pages_(pages), channel_(channel), inside_(inside), cancelling_(pages) {
    // Before a file that comes takes its place.
    if (::fcntl(kPaceFile, F_GETFD) != -1) pace_ = core::Descriptor(kPaceFile);
  }

  /// Becomes what the parent's first message says. Errors: what cannot even be answered.
  Result<void> load();
  /// Answers one message. Errors: the channel's.
  Result<void> answer();

 private:
  Result<Loaded> become(const Load& load);
  /// One answer, or those of several.
  Result<void> run(const Run& run);
  Result<void> argue(Argue asked);

  SharedPages& pages_;
  Channel& channel_;
  const Inside& inside_;
  Cancelling cancelling_;
  core::Descriptor pace_;  // none: none is meant
  std::unique_ptr<core::Pacer> pacer_;
  std::optional<tensor::Arena> arena_;  // of inputs
  std::unique_ptr<rollout::Engine> engine_;
};

Result<void> Worker::load() {
  COMMENSAL_ASSIGN(const Message message, receive(channel_));
  COMMENSAL_ASSIGN(const Load load, decode<Load>(message));
  const auto loaded = become(load);
  COMMENSAL_TRY(send(channel_, loaded ? *loaded : Loaded{.error = loaded.error()}));
  channel_.flush();
  return {};
}

Result<Loaded> Worker::become(const Load& load) {
  if (pace_.valid()) {
    if (inside_.pacer) {
      pacer_ = inside_.pacer(std::move(pace_), pages_.resting,
                             [this] { return cancelling_.is_cancelled(); });
    }
    if (pacer_ == nullptr) return fail(ErrorCode::kUnavailable, "a worker cannot follow the pace");
  }
  COMMENSAL_ASSIGN(const core::Descriptor file, channel_.receive_descriptor());
  auto model = core::MappedFile::of(file, load.model_bytes);
  if (model == nullptr) return fail(ErrorCode::kResourceExhausted, "the model cannot be mapped");
  stay_on(load.processors);
  // Made once before it is confined: OpenSSL reads its configuration when it makes the first one.
  const crypto::ChaCha20 first({}, {});
  COMMENSAL_ASSIGN(std::string unconfined, confine(load.data_bytes_max));
  out_of_memory = &pages_.out_of_memory;
  std::set_new_handler(end_for_memory);
  cancelling_.start();
  graph::SessionOptions session = load.session.options();
  session.pacer = pacer_.get();
  if (load.has_packs) {
    session.packs =
        std::make_shared<const graph::PackFolder>(std::make_shared<RemotePacks>(channel_));
  }
  arena_.emplace(session.memory_bytes_max);
  const auto make = inside_.engine ? inside_.engine : honest_engine;
  COMMENSAL_ASSIGN(engine_, make(std::move(model), session, load.feeds));
  return Loaded{.graph_root = engine_->roots().graph,
                .weight_root = engine_->roots().weights,
                .unconfined = std::move(unconfined),
                .joins = engine_->joins(),
                .face = Face::of(engine_->graph())};
}

Result<void> Worker::answer() {
  COMMENSAL_ASSIGN(const Message message, receive(channel_));
  if (message.kind == Kind::kArgue) {
    COMMENSAL_ASSIGN(Argue asked, decode<Argue>(message));
    COMMENSAL_TRY(argue(std::move(asked)));
  } else {
    COMMENSAL_ASSIGN(const Run asked, decode<Run>(message));
    COMMENSAL_TRY(run(asked));
  }
  channel_.flush();
  return {};
}

Result<void> Worker::argue(Argue asked) {
  COMMENSAL_ASSIGN(auto inputs, receive_tensors(channel_, asked.inputs, *arena_));
  const graph::RunOptions options{.cancel = cancelling_.begin(asked.number),
                                  .ops_max = asked.ops_max};
  const auto counsel = engine_->argue(std::move(asked).argument(std::move(inputs)), options);
  return send(channel_, Argued::of(counsel));
}

Result<void> Worker::run(const Run& run) {
  COMMENSAL_ASSIGN(const auto requests, receive_requests(channel_, run, *arena_));
  const graph::RunOptions options{.cancel = cancelling_.begin(run.number), .ops_max = run.ops_max};
  std::vector<Result<receipt::Values>> answers;
  if (run.is_joint) {
    answers = engine_->run_all(requests, options);
  } else {
    std::optional<noise::Noise> noise;
    if (run.noise) noise = {run.noise->seed, static_cast<int>(run.noise->exponent)};
    answers.push_back(engine_->run(run.step, requests.at(0), noise, options));
  }
  for (const auto& answer : answers) COMMENSAL_TRY(send_answer(channel_, answer));
  return {};
}

}  // namespace

int work(const Inside& inside) {
  auto memory = core::SharedMemory::map(core::Descriptor(kPagesFile), sizeof(SharedPages),
                                        core::SharedMemory::Access::kReadWrite);
  if (!memory) return 1;  // not started by a parent
  auto& pages = *reinterpret_cast<SharedPages*>(memory->bytes().data());
  Channel channel(pages, core::Descriptor(kSocketFile), Channel::Side::kWorker);
  Worker worker(pages, channel, inside);
  Result<void> done = worker.load();
  while (done) done = worker.answer();
  std::_Exit(0);  // at once: nobody waits for what an end in order would do
}

}  // namespace commensal::worker
