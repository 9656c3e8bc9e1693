// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <string>

/// A small network of all that a classifier has, and pictures that it can tell apart.
namespace commensal::train::testing {

/// input "x" float32[N,1,8,8]; output "scores" float32[N,4]; weights conv.w, conv.b, bn.scale,
/// bn.bias, fc.w, fc.b, drawn from fixed streams.
core::Bytes small_model();

/// `count` pictures float32[count,1,8,8], one of whose quarters is brighter, and which (int64).
struct Pictures {
  tensor::Tensor x, target;
};
Pictures pictures(std::int64_t count);

/// A folder with model.onnx, x.npy, y.npy and train.yaml, which is `more` after what all have.
class SmallTraining {
 public:
  explicit SmallTraining(const std::string& more = "");
  core::Path plan() const { return folder_.path() / "train.yaml"; }
  core::Path file(const std::string& name) const { return folder_.path() / name; }
  void write(const std::string& name, core::ByteView bytes) const;
  void write_plan(const std::string& more) const;

 private:
  core::TemporaryFolder folder_;
};

core::Result<Trainer> trainer_of(const SmallTraining& training,
                                 const graph::SessionOptions& options = {});
/// What goes wrong in so many steps, "" if nothing does.
std::string run(Trainer& trainer, int steps);
/// Why there is no trainer; "accepted".
std::string refusal(const SmallTraining& training);
/// Of the weights after so many steps; why there are none.
std::string digest_after(const SmallTraining& training, int steps,
                         const graph::SessionOptions& options = {});

}  // namespace commensal::train::testing
