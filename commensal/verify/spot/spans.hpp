// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/infer/conv.hpp>
#include <commensal/compute/kernels/infer/gemm.hpp>
#include <commensal/verify/spot/survey.hpp>

/// What an element reads, in runs of neighbours and mostly in order: `reads` of a chain of
/// thousands sorts as many references, which takes longer than hashing their leaves. Tests hold it
/// to `reads`.
namespace commensal::spot {

/// f(input, first element, how many)
template <class F>
void conv_spans(const kernels::infer::Conv& conv, std::int64_t index, const F& f) {
  const auto& window = conv.window;
  const std::int64_t spatial = window.out_elements(), plane = window.in_elements();
  const std::int64_t out_plane = index / spatial, n = out_plane / conv.out_channels;
  const std::int64_t o = out_plane % conv.out_channels, group = o / conv.group_out_channels();
  const auto at = window.split(index % spatial, window.out);
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // within a plane
  if (conv.winograd_tile != 0) {
    const std::int64_t side = conv.winograd_tile + 2;
    const auto range = [&](std::size_t d) {
      const std::int64_t begin = at[d] / conv.winograd_tile * conv.winograd_tile -
                                 window.pad_begin[d];
      return std::pair{std::max<std::int64_t>(begin, 0), std::min(begin + side, window.in[d])};
    };
    const auto [top, bottom] = range(0);
    const auto [left, right] = range(1);
    for (std::int64_t y = top; y < bottom && left < right; ++y) {
      runs.push_back({y * window.in[1] + left, right - left});
    }
  } else {
    for (std::int64_t tap = 0; tap < window.taps(); ++tap) {
      const std::int64_t source = window.source(at, window.split(tap, window.kernel));
      if (source >= 0) runs.push_back({source, 1});
    }
  }
  const std::int64_t first = (n * conv.channels + group * conv.group_channels()) * plane;
  for (std::int64_t c = 0; c < conv.group_channels(); ++c) {
    for (const auto& [begin, count] : runs) f(0, first + c * plane + begin, count);
  }
  f(1, o * conv.depth(), conv.depth());
  if (conv.has_bias) f(2, o, 1);
}

template <class F>
void strided_spans(int input, std::int64_t first, std::int64_t step, std::int64_t count,
                   const F& f) {
  if (step == 1) return f(input, first, count);
  for (std::int64_t i = 0; i < count; ++i) f(input, first + i * step, 1);
}

/// Conv, Gemm and MatMul; false for every other operator. Padded taps' weights may be among it.
template <class F>
bool product_spans(const kernels::Operator& op, const kernels::Call& call, std::int64_t index,
                   const F& f) {
  if (!op.domain.empty()) return false;
  if (op.name == "Conv") {
    const auto conv = kernels::infer::conv_of(call);
    core::check(conv.has_value(), "infer accepted this call");
    conv_spans(*conv, index, f);
    return true;
  }
  if (op.name == "Gemm") {
    const auto g = kernels::infer::gemm_of(call);
    core::check(g.has_value(), "infer accepted this call");
    const std::int64_t i = index / g->n, j = index % g->n;
    strided_spans(0, g->transpose_a ? i : i * g->k, g->transpose_a ? g->m : 1, g->k, f);
    strided_spans(1, g->transpose_b ? j * g->k : j, g->transpose_b ? 1 : g->n, g->k, f);
    if (g->has_c) f(2, i * g->c_row + j * g->c_column, 1);
    return true;
  }
  if (op.name == "MatMul") {
    const auto mm = kernels::infer::matmul_of(call);
    core::check(mm.has_value(), "infer accepted this call");
    const std::int64_t j = index % mm->n, i = index / mm->n % mm->m, batch = index / mm->n / mm->m;
    strided_spans(0, (mm->a_matrix(batch) * mm->m + i) * mm->k, 1, mm->k, f);
    strided_spans(1, mm->b_matrix(batch) * mm->k * mm->n + j, mm->n, mm->k, f);
    return true;
  }
  return false;
}

}  // namespace commensal::spot
