// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/codes/depthwise.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/ref/quantised.hpp>

namespace commensal::kernels::cpu {

namespace {

/// A product of two differences of codes is at most 255^2; so many of them stay below 2^24.
constexpr std::int64_t kTapsMax = 256;

/// W less its zero points, as numbers.
std::vector<float> weights_of(const Call& call, const infer::CodeRoles& roles,
                              const infer::CodeConv& codes) {
  const ref::CodeView w(call.in(roles.b.codes));
  const std::int64_t taps = codes.conv.window.taps();
  std::vector<float> made;
  for (std::int64_t i = 0; i < codes.conv.out_channels * taps; ++i) {
    const std::int64_t zero = ref::code_at(call, roles.b.zero, codes.w.zero.at(0, 0, i / taps));
    made.push_back(static_cast<float>(w[i] - zero));
  }
  return made;
}

}  // namespace

bool suits_code_depthwise(const infer::Conv& conv) {
  return conv.group_channels() == 1 && conv.window.taps() <= kTapsMax &&
         TapLayout::suits(conv.window);
}

core::Result<void> code_depthwise(
    const Call& call, const infer::CodeRoles& roles, const infer::CodeConv& codes,
    const std::function<CodeFinish(std::int64_t, std::int64_t)>& finish, Workspace& ws) {
  const CpuKernels& kernels = kernels_for(ws.isa);
  const CodeKernels& code_kernels = code_kernels_for(ws.isa);
  const infer::Conv& conv = codes.conv;
  const TapLayout layout(conv.window);
  const Tensor& x = call.in(roles.a.codes);
  const std::int64_t pixels = conv.window.in_elements(), out = conv.window.out_elements();
  const std::vector<float> weights = weights_of(call, roles, codes);
  const auto zero = static_cast<std::int32_t>(ref::code_at(call, roles.a.zero, 0));
  const float one = 1;
  const LinearRow row{.count = pixels, .scales = &one, .zeros = &zero, .codes = x.dtype()};
  const std::int64_t split_floats = layout.plane_floats() + kernels.lanes;
  return run_with_scratch(
      ws, conv.batch * conv.channels, pixels + split_floats + out + kernels.lanes,
      [&](std::int64_t i, float* plane) {
        float *const split = plane + pixels, *const sums = split + split_floats;
        code_kernels.dequantise(row, x.bytes().data() + i * pixels, plane);
        layout.fill(kernels, plane, 0.0f, split);
        const std::int64_t channel = i % conv.channels, many = conv.group_out_channels();
        for (std::int64_t o = channel * many; o < (channel + 1) * many; ++o) {
          TapPlane taps = layout.plane(split, sums);
          taps.weights = weights.data() + o * conv.window.taps();
          kernels.taps.chain(taps);
          CodeFinish f = finish(i / conv.channels, o);
          f.exact = sums;
          f.rows = 1;
          f.columns = static_cast<int>(out);
          const std::int32_t none = 0;  // the zero points are in the sums already
          f.row_terms = f.column_zeros = &none;
          f.row_zeros = nullptr;
          code_kernels.finish(f);
        }
      });
}

}  // namespace commensal::kernels::cpu
