// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/operators.hpp>

/// Convolutions, direct and by the Winograd clause (docs/numerics.md). Inside this room only.
namespace commensal::arbiter {

struct Conv {
  Window window;
  std::int64_t batch = 0, channels = 0, out_channels = 0, group = 1;
  int tile = 0;  // side of an output tile by the Winograd clause; 0: it does not apply
};
/// Precondition: both inputs are there. Error: kUnsupported.
core::Result<Conv> conv_of(const NodeCall& call);

/// 4 or 2 where the clause applies to this static shape, else 0.
int winograd_tile(const Conv& conv, bool is_float32);
/// The program of one element by the clause: for each channel the transforms of the filter (in
/// binary64) and of the tile's input, then one fused multiply-add for each point; then the
/// transform back and the bias.
void winograd(const Conv& conv, const Emitter& emit, std::int64_t element, Operand bias);

/// acc + bias, a bias of -0 counting as +0.
Operand add_bias(const Emitter& emit, Operand acc, Operand bias);

}  // namespace commensal::arbiter
