// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/collocation/guest/duty_pacer.hpp>
#include <commensal/collocation/tuner/tuner.hpp>
#include <commensal/collocation/tuner/ways.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <memory>
#include <mutex>
#include <thread>

namespace commensal::apps {

/// A model in a worker of its own, as providers have it, that answers made up requests while it is
/// let. Thread-safety: one thread.
class EngineRunner final : public tuner::Runner {
 public:
  /// Returns once it is loaded and has answered, at a tenth of its speed; then it stands still.
  /// Errors: those of the model,
  /// its worker and lab::bench::draw_inputs.
  static core::Result<std::unique_ptr<EngineRunner>> start(const core::Path& model,
                                                           const tuner::Way& way,
                                                           const graph::SessionOptions& session);
  ~EngineRunner() override;

  void let(bool runs) override { pacer_.set_level(runs ? 1 : 0); }
  core::Result<std::uint64_t> answers() override;
  /// That a request takes at full speed, with those that are computed with it.
  double request_s() const { return request_s_; }

 private:
  EngineRunner() = default;
  core::Result<void> load(const core::Path& model, const tuner::Way& way,
                          const graph::SessionOptions& session);
  core::Result<void> answer();
  void run(const std::stop_token& stop);

  guest::DutyPacer pacer_;
  std::unique_ptr<worker::ProcessEngineFactory> factory_;
  std::unique_ptr<rollout::Engine> engine_;
  std::vector<receipt::Values> requests_;
  std::stop_source closing_;
  double request_s_ = 0;
  std::atomic<std::uint64_t> answers_ = 0;
  std::mutex mutex_;
  core::Result<void> state_;  // guarded by mutex_
  std::jthread thread_;       // last: it uses the others
};

}  // namespace commensal::apps
