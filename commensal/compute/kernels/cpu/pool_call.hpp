// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/cpu/window_maxima.hpp>
#include <commensal/compute/kernels/shape_inference/pool.hpp>
#include <optional>
#include <vector>

namespace commensal::kernels::cpu {

/// Where the places of a plane's elements are, as PlacedTaps has them.
class PoolPlaces {
 public:
  std::vector<std::uint32_t> taps;
  std::uint32_t row_step = 0, column_step = 0;

  explicit PoolPlaces(const shape_inference::Pool& pool);
  /// Of the slice whose first output is this one.
  std::uint32_t slice(std::int64_t output) const;

 private:
  shape_inference::Window window_;
  shape_inference::Dims step_{};
};

/// What the runs of a pool have in common: made once for all runs of a node.
struct PoolCall {
  enum class Kind { kMaximum, kAverage, kPower };  // kPower: LpPool

  shape_inference::Pool pool;
  Kind kind = Kind::kMaximum;
  float power = 1;        // of LpPool
  bool is_whole = false;  // each plane has one output, out of all of it: all below is absent
  // What serves; none of it where plain loops are to.
  std::optional<TapLayout> layout;  // of sums, and of maxima with their places
  std::vector<float> divisors;      // of averages
  std::optional<PoolPlaces> places;
  std::optional<WindowMaxima<float>> maxima;  // of codes too
  std::optional<WindowMaxima<double>> maxima_of_doubles;

  /// `with_places`: the maxima's are asked for. Types of 16 bits are served as binary32.
  static core::Result<PoolCall> of(const Call& call, Kind kind, bool with_places, Isa isa);
  std::int64_t bytes() const;
};

/// Maxima of doubles with their places: `call` has a layout and places. Error: kResourceExhausted.
core::Result<void> max_pool_doubles_with_places(const PoolCall& made, const Call& call,
                                                std::span<Tensor> outputs, Workspace& ws);

}  // namespace commensal::kernels::cpu
