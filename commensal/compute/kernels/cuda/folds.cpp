// SPDX-License-Identifier: Apache-2.0
// Softmax, LayerNormalization and InstanceNormalization, from a Call to a task.
#include <commensal/compute/kernels/cuda/kernels.hpp>
#include <commensal/compute/kernels/shape_inference/softmax.hpp>

namespace commensal::kernels::cuda {
namespace {

using Floats = std::shared_ptr<float>;

core::Result<void> run_norm(NormTask task, const Call& call, std::span<Tensor> outputs,
                            Device& device) {
  if (outputs[0].elements() == 0) return {};
  task.groups = outputs[0].elements() / task.size;
  COMMENSAL_ASSIGN(task.epsilon, call.attributes->real("epsilon", 1e-5f));
  COMMENSAL_ASSIGN(const Floats x, device.upload(call.in(0)));
  COMMENSAL_ASSIGN(const Floats scale, device.upload(call.in(1)));
  Floats bias;
  if (call.has(2)) {
    COMMENSAL_ASSIGN(bias, device.upload(call.in(2)));
  }
  Floats made[3];  // y, mean, inverse
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    COMMENSAL_ASSIGN(made[o], device.floats(outputs[o].elements()));
  }
  task.x = x.get();
  task.scale = scale.get();
  task.bias = bias.get();
  task.y = made[0].get();
  task.mean = made[1].get();
  task.inverse = made[2].get();
  device.run(&Driver::normalise, task);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    COMMENSAL_TRY(device.download(made[o].get(), outputs[o]));
  }
  return {};
}

}  // namespace

core::Result<void> run_softmax(const Call& call, std::span<Tensor> outputs, Device& device) {
  COMMENSAL_ASSIGN(const shape_inference::Softmax s, shape_inference::softmax_of(call));
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(const Floats x, device.upload(call.in(0)));
  COMMENSAL_ASSIGN(const Floats y, device.floats(outputs[0].elements()));
  device.run(&Driver::softmax, SoftmaxTask{.x = x.get(),
                                           .y = y.get(),
                                           .rows = outputs[0].elements() / s.view.length,
                                           .length = s.view.length,
                                           .step = s.view.inner_size});
  return device.download(y.get(), outputs[0]);
}

core::Result<void> run_layer_norm(const Call& call, std::span<Tensor> outputs, Device& device) {
  const tensor::Shape& x = call.in(0).shape();
  COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, x.rank()));
  return run_norm({.size = x.elements(axis, x.rank())}, call, outputs, device);
}

core::Result<void> run_instance_norm(const Call& call, std::span<Tensor> outputs, Device& device) {
  const tensor::Shape& x = call.in(0).shape();
  return run_norm({.size = x.elements(2, x.rank()), .channels = x[1]}, call, outputs, device);
}

}  // namespace commensal::kernels::cuda
