// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/lab/bench/overhead/shared_engine.hpp>

namespace commensal::lab::bench::overhead {
namespace {

class Lent final : public rollout::Engine {
 public:
  explicit Lent(SharedEngine& engine) : engine_(engine) {}
  const receipt::ModelRoots& roots() const override { return engine_.roots(); }
  const graph::Graph& graph() const override { return engine_.graph(); }
  core::Result<receipt::Values> run(std::uint64_t, const receipt::Values& inputs,
                                    const std::optional<noise::Noise>&,
                                    const graph::RunOptions&) override {
    return engine_.run(inputs);
  }

 private:
  SharedEngine& engine_;
};

}  // namespace

core::Result<receipt::Values> SharedEngine::run(const receipt::Values& inputs) {
  if (first_ns_ == 0) first_ns_ = clock_.monotonic_ns();
  auto outputs = [&] {
    const core::CpuMeter meter(cpu_ns_);
    return engine_->run(1, inputs, std::nullopt);
  }();
  last_ns_ = clock_.monotonic_ns();
  return outputs;
}

core::Result<std::unique_ptr<rollout::Engine>> SharedEngineFactory::load(
    const core::Path&, const std::vector<protocol::Feed>&, const std::stop_token&) {
  return std::make_unique<Lent>(engine_);
}

}  // namespace commensal::lab::bench::overhead
