// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>

namespace commensal::lab::bench::overhead {

/// One engine for all that is compared, so that the same memory computes on each side; it notes
/// when it began its first run and ended its last. Thread-safety: one thread at a time.
class SharedEngine {
 public:
  SharedEngine(std::unique_ptr<rollout::Engine> engine, const core::Clock& clock)
      : engine_(std::move(engine)), clock_(clock) {}

  const receipt::ModelRoots& roots() const { return engine_->roots(); }
  const graph::Graph& graph() const { return engine_->graph(); }
  core::Result<receipt::Values> run(const receipt::Values& inputs);

  void forget() { first_ns_ = last_ns_ = cpu_ns_ = 0; }
  /// From the beginning of the first run since forget() to the end of the last.
  std::int64_t span_ns() const { return last_ns_ - first_ns_; }
  /// Processor time of the runs since forget().
  std::int64_t cpu_ns() const { return cpu_ns_; }

 private:
  std::unique_ptr<rollout::Engine> engine_;
  const core::Clock& clock_;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t cpu_ns_ = 0;
};

/// Lends it to a provider. `engine` outlives the factory and what it loads.
class SharedEngineFactory final : public rollout::EngineFactory {
 public:
  explicit SharedEngineFactory(SharedEngine& engine) : engine_(engine) {}
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path&,
                                                      const std::vector<protocol::Feed>&,
                                                      const std::stop_token&) override;

 private:
  SharedEngine& engine_;
};

}  // namespace commensal::lab::bench::overhead
