// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>

/// Conv by the Winograd clause of docs/numerics.md.
namespace commensal::kernels::ref {

void winograd_run(const shape_inference::Conv& conv, const Call& call, Tensor& output);
float winograd_element(const shape_inference::Conv& conv, const Call& call, std::int64_t index);
/// The inputs within the image of the element's whole tile, its filters and its bias.
void winograd_reads(const shape_inference::Conv& conv, std::int64_t index,
                    std::vector<ElementRef>& out);
/// (tile + 2)^2 chains over the input channels, one after another.
std::int64_t winograd_steps(const shape_inference::Conv& conv);
/// After k steps: the accumulator of point (k - 1) / C, row-major, after (k - 1) % C + 1 channels.
float winograd_partial(const shape_inference::Conv& conv, const Call& call, std::int64_t index,
                       std::int64_t steps);

}  // namespace commensal::kernels::ref
