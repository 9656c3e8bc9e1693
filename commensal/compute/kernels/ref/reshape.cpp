// SPDX-License-Identifier: Apache-2.0
// Operators that keep all elements in order: Identity, Reshape, Flatten, Squeeze, Unsqueeze.
#include <algorithm>
#include <commensal/compute/kernels/ref/movement.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

struct InOrder {
  static constexpr bool kInOrder = true;
  TensorType type;
  std::vector<TensorType> types() const { return {type}; }
  ElementRef source(int, std::int64_t index) const { return {0, index}; }
};

struct Identity : InOrder {
  static core::Result<Identity> make(const Call& call) { return Identity{{call.in(0).type()}}; }
};

struct Reshape : InOrder {
  static constexpr int kFirstParameter = 1;

  static core::Result<Reshape> make(const Call& call) {
    const Shape& from = call.in(0).shape();
    COMMENSAL_ASSIGN(auto dims, shape_inference::list_from(call, "shape", 1, 5));
    COMMENSAL_ASSIGN(const std::int64_t allow_zero, call.attributes->integer("allowzero", 0));
    std::ptrdiff_t open = -1;
    std::vector<std::int64_t> known;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 0 && allow_zero == 0) {
        if (static_cast<int>(i) >= from.rank()) {
          return fail(ErrorCode::kInvalidArgument, "shape entry {} copies a dimension {} lacks", i,
                      from.text());
        }
        dims[i] = from[static_cast<int>(i)];
      }
      if (dims[i] == -1 && open < 0) {
        open = static_cast<std::ptrdiff_t>(i);
      } else {
        known.push_back(dims[i]);
      }
    }
    COMMENSAL_ASSIGN(const Shape rest, Shape::of(known));
    if (open >= 0) {
      dims[static_cast<std::size_t>(open)] =
          rest.elements() == 0 ? 0 : from.elements() / rest.elements();
    }
    COMMENSAL_ASSIGN(const Shape to, Shape::of(dims));
    if (to.elements() == from.elements()) return Reshape{{{call.in(0).dtype(), to}}};
    return fail(ErrorCode::kInvalidArgument, "{} cannot be reshaped to {}", from.text(), to.text());
  }
};

struct Flatten : InOrder {
  static core::Result<Flatten> make(const Call& call) {
    const Shape& from = call.in(0).shape();
    COMMENSAL_ASSIGN(std::int64_t axis, call.attributes->integer("axis", 1));
    if (axis < -from.rank() || axis > from.rank()) {
      return fail(ErrorCode::kInvalidArgument, "axis {} is outside of {}", axis, from.text());
    }
    const int cut = static_cast<int>(axis < 0 ? axis + from.rank() : axis);
    COMMENSAL_ASSIGN(const Shape to,
                     Shape::of(std::array{from.elements(0, cut), from.elements(cut, from.rank())}));
    return Flatten{{{call.in(0).dtype(), to}}};
  }
};

struct Squeeze : InOrder {
  static constexpr int kFirstParameter = 1;

  static core::Result<Squeeze> make(const Call& call) {
    const Shape& from = call.in(0).shape();
    COMMENSAL_ASSIGN(const auto given, shape_inference::list_from(call, "axes", 1, 13));
    COMMENSAL_ASSIGN(const auto axes, shape_inference::axes_of(given, from.rank()));
    std::vector<std::int64_t> dims;
    for (int d = 0; d < from.rank(); ++d) {
      const bool named = std::ranges::find(axes, d) != axes.end();
      if (named && from[d] != 1) {
        return fail(ErrorCode::kInvalidArgument, "axis {} of {} is not 1", d, from.text());
      }
      if (!named && !(axes.empty() && from[d] == 1)) dims.push_back(from[d]);
    }
    COMMENSAL_ASSIGN(const Shape to, Shape::of(dims));
    return Squeeze{{{call.in(0).dtype(), to}}};
  }
};

struct Unsqueeze : InOrder {
  static constexpr int kFirstParameter = 1;

  static core::Result<Unsqueeze> make(const Call& call) {
    const Shape& from = call.in(0).shape();
    COMMENSAL_ASSIGN(const auto given, shape_inference::list_from(call, "axes", 1, 13));
    const int rank = from.rank() + static_cast<int>(given.size());
    COMMENSAL_ASSIGN(const auto axes, shape_inference::axes_of(given, rank));
    std::vector<std::int64_t> dims;
    for (int d = 0, next = 0; d < rank; ++d) {
      const bool added = std::ranges::find(axes, d) != axes.end();
      dims.push_back(added ? 1 : from[next++]);
    }
    COMMENSAL_ASSIGN(const Shape to, Shape::of(dims));
    return Unsqueeze{{{call.in(0).dtype(), to}}};
  }
};

}  // namespace

constinit const Judge kFlatten = movement<Flatten>();
constinit const Judge kIdentity = movement<Identity>();
constinit const Judge kReshape = movement<Reshape>();
constinit const Judge kSqueeze = movement<Squeeze>();
constinit const Judge kUnsqueeze = movement<Unsqueeze>();

}  // namespace commensal::kernels::ref
