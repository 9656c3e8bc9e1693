// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/half_columns.hpp>

namespace commensal::kernels::cpu {

HalfColumns::HalfColumns(Pulse& pulse, Isa isa, const Tensor& from, std::int64_t depth,
                         std::int64_t columns, std::int64_t step, std::int64_t column_step,
                         PackStore* store)
    : tile_columns_(kernels_for(isa).tile_columns),
      depth_(depth),
      kernels_(half_kernels_for(isa, from.dtype())),
      panels_(ceil_div(packed_columns_elements(kernels_for(isa), depth, columns), 2), store,
              [&](float* to) {
                pack_columns(pulse, kernels_for(isa), half_bits(from), depth, columns, step,
                             column_step, reinterpret_cast<std::uint16_t*>(to));
              }) {}

Columns HalfColumns::block(std::int64_t k, std::int64_t depth, std::int64_t column, int,
                           float* scratch) const {
  const auto* const panels = reinterpret_cast<const std::uint16_t*>(panels_.data());
  kernels_.widen(panels + column * depth_ + k * tile_columns_, scratch, depth * tile_columns_);
  return {scratch, tile_columns_};
}

}  // namespace commensal::kernels::cpu
