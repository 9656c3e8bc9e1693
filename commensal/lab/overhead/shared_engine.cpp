// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/lab/overhead/shared_engine.hpp>

namespace commensal::lab::overhead {
namespace {

class Lent final : public provider::Engine {
 public:
  explicit Lent(SharedEngine& engine) : engine_(engine) {}
  const receipt::ModelRoots& roots() const override { return engine_.roots(); }
  core::Result<tensor::NamedTensors> run(const tensor::NamedTensors& inputs) override {
    return engine_.run(inputs);
  }

 private:
  SharedEngine& engine_;
};

}  // namespace

core::Result<tensor::NamedTensors> SharedEngine::run(const tensor::NamedTensors& inputs) {
  if (first_ns_ == 0) first_ns_ = clock_.monotonic_ns();
  auto outputs = [&] {
    const core::CpuMeter meter(cpu_ns_);
    return engine_->run(inputs);
  }();
  last_ns_ = clock_.monotonic_ns();
  return outputs;
}

core::Result<std::unique_ptr<provider::Engine>> SharedEngineFactory::load(const core::Path&) {
  return std::make_unique<Lent>(engine_);
}

}  // namespace commensal::lab::overhead
