// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// The internal operators on pictures in blocks of channels (layout.hpp), for table_internal.hpp.
namespace commensal::kernels::cpu {

using Types = core::Result<std::vector<TensorType>>;
using Done = core::Result<void>;
using Outputs = std::span<Tensor>;

// conv.cpp: X, W, bias or none, residual or none.
Types infer_blocked_conv(const Call& call);
core::Result<std::shared_ptr<const Packed>> pack_blocked_conv(const Call& call, Isa isa);
Done blocked_conv(const Call& call, Outputs outputs, Workspace& ws);

// expand.cpp: X, W and bias or none of a convolution 1x1, W and bias or none of a depthwise one.
// Attributes of the second; the first one's "low", "high", "gate", "alpha", "beta" behind "first_".
Types infer_blocked_expand(const Call& call);
core::Result<std::shared_ptr<const Packed>> pack_blocked_expand(const Call& call, Isa isa);
std::int64_t blocked_expand_steps(const Call& call);  // of both, for an output element
Done blocked_expand(const Call& call, Outputs outputs, Workspace& ws);

// channels.cpp: attributes "sources" and "channels": which input each channel comes from, and which
// of its channels it is.
Types infer_blocked_channels(const Call& call);
core::Result<std::shared_ptr<const Packed>> pack_blocked_channels(const Call& call, Isa isa);
Done blocked_channels(const Call& call, Outputs outputs, Workspace& ws);

// convert.cpp. Attribute "channels" where the input does not tell.
Types infer_to_blocked(const Call& call);  // [N, C, H, W]
Done to_blocked(const Call& call, Outputs outputs, Workspace& ws);
Types infer_from_blocked(const Call& call);  // "flat": as [N, C * H * W]
Done from_blocked(const Call& call, Outputs outputs, Workspace& ws);
Types infer_last_to_blocked(const Call& call);  // [N, H, W, C]
Done last_to_blocked(const Call& call, Outputs outputs, Workspace& ws);
Types infer_blocked_to_last(const Call& call);
Done blocked_to_last(const Call& call, Outputs outputs, Workspace& ws);

// planes.cpp. Binary: X and one element for each channel, [N or 1, blocks, 1, 1, 16]; attribute
// "role" (Add, Sub, Mul or Div). Normalise: X, scale, B, mean, var; attributes of
// BatchNormalization, low, high.
Types infer_blocked_same(const Call& call);
Done blocked_binary(const Call& call, Outputs outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_blocked_normalise(const Call& call, Isa isa);
Done blocked_normalise(const Call& call, Outputs outputs, Workspace& ws);

// pool.cpp: attributes of the pools.
Types infer_blocked_pool(const Call& call);
std::int64_t blocked_pool_steps(const Call& call);  // of an output element
Done blocked_max_pool(const Call& call, Outputs outputs, Workspace& ws);
Done blocked_average_pool(const Call& call, Outputs outputs, Workspace& ws);
Types infer_blocked_global_pool(const Call& call);
Done blocked_global_average_pool(const Call& call, Outputs outputs, Workspace& ws);

}  // namespace commensal::kernels::cpu
