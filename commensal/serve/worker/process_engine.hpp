// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/shared_memory.hpp>
#include <commensal/serve/worker/process.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace commensal::worker {

/// The argument by which a program knows that it is to be a worker (work(), inside.hpp).
inline constexpr std::string_view kWorkerWord = "worker-process";

/// How a model's worker runs.
struct Fit {
  int threads = 1;
  std::vector<std::uint32_t> processors = {};
};

struct ProcessOptions {
  /// Its pacer is not looked at: `pace` is in its place.
  graph::SessionOptions session;
  /// Called on the thread that starts workers, so that they inherit what it asks of the system.
  std::function<void()> ready_thread = {};
  /// What an operator should know once: what the system did not grant.
  std::function<void(const std::string&)> say = {};
  /// Where a pacer of this process shows its level; the workers' own go by it (Inside::pacer).
  /// Null: nothing holds them; with `is_held` nothing is loaded then. It outlives the engines, as
  /// what `is_held` and `tell_rest` need.
  const core::SharedMemory* pace = nullptr;
  /// Whether the pacer lets nobody work.
  std::function<bool()> is_held = {};
  /// Whether threads of a worker rest for the pacer now; told while it computes, again and again.
  std::function<void(bool)> tell_rest = {};
  Program program = {.path = "/proc/self/exe", .word = std::string(kWorkerWord)};
  std::vector<std::uint32_t> processors = {};  // on which alone workers run; none: on any
  std::map<core::Digest, Fit> fits =
      {};                           // of models, by SHA-256 of their files, that run otherwise
  std::int64_t data_bytes_max = 0;  // memory of a worker's own; 0: what the session may use and
                                    // limits::kWorkerModelCopiesMax of the model beside it
  std::int64_t cancel_ms = limits::kWorkerCancelMs;
  std::int64_t still_ms_max = limits::kWorkerStillMsMax;
  std::int64_t cpu_ms_max = limits::kWorkerCpuMsMax;
};

/// The twin of rollout::SessionEngineFactory whose engines are processes of their own, confined to
/// computing (sandbox.hpp). The same answers and errors, bit for bit, but that
///  - where the worker dies of a model, gets no more memory, takes more processor time than it may
///    or stands still, the one run fails (kInternal, kResourceExhausted, kDeadlineExceeded), and
///    the next one has a fresh worker; of jobs that were run together each gets its own chance;
///  - what has not ended within `cancel_ms` of being cancelled is ended (kCancelled);
///  - graph() has inputs and outputs alone, and runs are not traced and have no pacer of their own
///    (kUnsupported); a side of a dispute is argued inside, and what it says is looked at here
///    before anybody signs it;
///  - where a pace is meant and cannot be followed nothing is loaded (kUnavailable);
///  - a model that has data outside its file is refused, as by the twin.
/// Thread-safety: as EngineFactory's; its engines may outlive it.
class ProcessEngineFactory final : public rollout::EngineFactory {
 public:
  explicit ProcessEngineFactory(ProcessOptions options);
  ~ProcessEngineFactory() override;
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path& model_file,
                                                      const std::vector<protocol::Feed>& feeds,
                                                      const std::stop_token& cancel = {}) override;
  void forget(const core::Digest& model) override;

  struct Shared;  // by the factory and its engines

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace commensal::worker
