// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/pool_call.hpp>
#include <limits>

namespace commensal::kernels::cpu {

namespace {

using shape_inference::Dims;
using shape_inference::Pool;
using tensor::DType;

bool takes_whole_planes(const Pool& pool) {
  const shape_inference::Window& w = pool.window;
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
    if (w.kernel[d] != w.in[d] || w.dilation[d] != 1 || w.out[d] != 1) return false;
    if (w.pad_begin[d] != 0 || w.pad_end[d] != 0) return false;
  }
  return true;
}

}  // namespace

PoolPlaces::PoolPlaces(const Pool& pool) : window_(pool.window) {
  const auto rank = static_cast<std::size_t>(window_.rank);
  std::int64_t next = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = pool.column_major ? i : rank - 1 - i;
    step_[d] = next;
    next *= window_.in[d];
  }
  for (std::int64_t tap = 0; tap < window_.taps(); ++tap) {
    const Dims at = window_.split(tap, window_.kernel);
    std::int64_t place = 0;
    for (std::size_t d = 0; d < rank; ++d)
      place += (at[d] * window_.dilation[d] - window_.pad_begin[d]) * step_[d];
    taps.push_back(static_cast<std::uint32_t>(place));
  }
  if (rank > 1) row_step = static_cast<std::uint32_t>(window_.stride[rank - 2] * step_[rank - 2]);
  column_step = static_cast<std::uint32_t>(window_.stride[rank - 1] * step_[rank - 1]);
}

std::uint32_t PoolPlaces::slice(std::int64_t output) const {
  const Dims at = window_.split(output, window_.out);
  std::int64_t place = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(window_.rank); ++d) {
    place += at[d] * window_.stride[d] * step_[d];
  }
  return static_cast<std::uint32_t>(place);
}

core::Result<PoolCall> PoolCall::of(const Call& call, Kind kind, bool with_places, Isa isa) {
  PoolCall made;
  made.kind = kind;
  COMMENSAL_ASSIGN(made.pool, shape_inference::pool_of(call));
  if (kind == Kind::kPower && call.opset < 2) {
    COMMENSAL_ASSIGN(made.power, call.attributes->real("p", 2));
  } else if (kind == Kind::kPower) {
    COMMENSAL_ASSIGN(const std::int64_t whole, call.attributes->integer("p", 2));
    made.power = static_cast<float>(whole);
  }
  const shape_inference::Window& window = made.pool.window;
  const DType dtype = call.in(0).dtype();
  const bool is_single = dtype == DType::kFloat32 || is_half(dtype);
  const bool is_code = dtype == DType::kUint8 || dtype == DType::kInt8;
  const bool takes_whole = kind == Kind::kMaximum || kind == Kind::kAverage;
  made.is_whole = takes_whole && !with_places && is_single && takes_whole_planes(made.pool);
  constexpr std::int64_t kListedMax = 1 << 24;  // divisors
  if (made.is_whole || !TapLayout::suits(window) || window.in_elements() == 0) return made;
  if (kind == Kind::kAverage && window.out_elements() > kListedMax) return made;
  if (with_places) {
    const bool counts = window.in_elements() <= std::numeric_limits<std::int32_t>::max();
    if ((!is_single && dtype != DType::kFloat64) || !counts) return made;
    made.layout.emplace(window);
    made.places.emplace(made.pool);
  } else if (kind != Kind::kMaximum) {
    if (!is_single) return made;
    made.layout.emplace(window);
    if (kind == Kind::kAverage) made.divisors = made.pool.divisors(call.pulse);
  } else if (is_single || is_code) {
    made.maxima.emplace(window, isa);
  } else if (dtype == DType::kFloat64) {
    made.maxima_of_doubles.emplace(window, isa);
  }
  return made;
}

std::int64_t PoolCall::bytes() const {
  std::int64_t all = static_cast<std::int64_t>(sizeof *this);
  all += static_cast<std::int64_t>(divisors.size() * sizeof(float));
  if (layout) all += layout->bytes();
  if (places) all += static_cast<std::int64_t>(places->taps.size() * sizeof(std::uint32_t));
  if (maxima) all += maxima->bytes();
  if (maxima_of_doubles) all += maxima_of_doubles->bytes();
  return all;
}

}  // namespace commensal::kernels::cpu
