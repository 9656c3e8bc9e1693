// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/pool.hpp>

namespace commensal::kernels::shape_inference {
namespace {

using core::ErrorCode;
using core::fail;
using tensor::Shape;

core::Result<Pool> pool_over(const Call& call, const Window& window) {
  const Shape& x = call.in(0).shape();
  Pool pool;
  pool.window = window;
  pool.dtype = call.in(0).dtype();
  pool.planes = x[0] * x[1];
  std::vector<std::int64_t> dims = {x[0], x[1]};
  dims.insert(dims.end(), window.out.begin(), window.out.begin() + window.rank);
  COMMENSAL_ASSIGN(pool.shape, Shape::of(dims));
  return pool;
}

}  // namespace

std::int64_t Pool::divisor_along(std::size_t d, std::int64_t at) const {
  if (!count_pads) return window.inside(d, at).count;
  const std::int64_t all = window.in[d] + window.pad_begin[d] + window.pad_end[d];
  const std::int64_t room = std::max<std::int64_t>(all - at * window.stride[d], 0);
  return std::min(window.kernel[d], (room + window.dilation[d] - 1) / window.dilation[d]);
}

std::int64_t Pool::divisor(const Dims& at) const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
    count *= divisor_along(d, at[d]);
  }
  return count;
}

std::vector<float> Pool::divisors(Pulse& pulse) const {
  const auto last = static_cast<std::size_t>(window.rank - 1);
  std::vector<std::int64_t> along;  // the last dimension
  for (std::int64_t i = 0; i < window.out[last]; ++i) along.push_back(divisor_along(last, i));
  std::vector<float> all(static_cast<std::size_t>(window.out_elements()));
  for (auto to = all.begin(); to != all.end();) {
    const Dims at = window.split(to - all.begin(), window.out);
    std::int64_t before = 1;
    for (std::size_t d = 0; d < last; ++d) before *= divisor_along(d, at[d]);
    for (const std::int64_t count : along) *to++ = static_cast<float>(before * count);
    pulse(window.out[last] + 16);
  }
  return all;
}

core::Result<Pool> pool_of(const Call& call) {
  const Shape& x = call.in(0).shape();
  COMMENSAL_ASSIGN(const auto kernel, call.attributes->integers("kernel_shape"));
  if (kernel.empty()) {
    return fail(ErrorCode::kInvalidArgument, "attribute 'kernel_shape' is missing");
  }
  COMMENSAL_ASSIGN(const Window window, window_of(call, x, kernel));
  COMMENSAL_ASSIGN(Pool pool, pool_over(call, window));
  COMMENSAL_ASSIGN(pool.count_pads, call.attributes->integer("count_include_pad", 0));
  COMMENSAL_ASSIGN(pool.column_major, call.attributes->integer("storage_order", 0));
  return pool;
}

core::Result<Pool> global_pool_of(const Call& call) {
  const Shape& x = call.in(0).shape();
  if (x.rank() < 3) {
    return fail(ErrorCode::kInvalidArgument, "input 0 must be [N, C, D...], not {}", x.text());
  }
  Window window;
  window.rank = x.rank() - 2;
  for (int d = 0; d < window.rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    window.in[at] = window.kernel[at] = x[d + 2];
    window.out[at] = window.stride[at] = window.dilation[at] = 1;
  }
  return pool_over(call, window);
}

}  // namespace commensal::kernels::shape_inference
