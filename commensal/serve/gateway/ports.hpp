// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/named.hpp>
#include <commensal/serve/gateway/hub.hpp>

namespace commensal::gateway {

/// The inputs in the model's order, checked against what it declares.
/// Error: kInvalidArgument, naming what is wrong and all inputs that were expected.
core::Result<tensor::NamedTensors> order_inputs(const ModelVersion& model,
                                                tensor::NamedTensors inputs);

}  // namespace commensal::gateway
