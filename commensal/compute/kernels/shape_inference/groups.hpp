// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <vector>

namespace commensal::kernels::shape_inference {

/// What a normalisation goes over, as LayerNormalization, InstanceNormalization and
/// GroupNormalization have it.
/// Element `index` belongs to group index / size; its scale and bias are entry parameter(index):
/// stretches of `stretch` elements share one, and the `parameters` of them come round.
struct Groups {
  TensorType type;
  std::int64_t size = 1;
  std::int64_t stretch = 1, parameters = 1;
  std::vector<TensorType> facts;  // of the optional outputs Mean and InvStdDev
  float epsilon = 1e-5f;

  std::int64_t parameter(std::int64_t index) const { return index / stretch % parameters; }
};

enum class GroupForm { kLayer, kInstance, kGroup };
/// Of a call of that operator. Errors: kInvalidArgument, kUnsupported.
core::Result<Groups> groups_of(const Call& call, GroupForm form);

}  // namespace commensal::kernels::shape_inference
