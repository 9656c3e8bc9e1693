// SPDX-License-Identifier: Apache-2.0
// Operators that copy elements to other places: some places follow from the shapes, some are named
// by an input's elements.
#include <algorithm>
#include <commensal/verify/arbiter/operators.hpp>
#include <commensal/verify/scalar/soft.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

void copy(StepBuilder& steps, const Operand& from) { steps.put(Op::kCopy, {from}); }
Shaped int64s(const Dims& dims) { return shaped(static_cast<std::uint8_t>(Element::kInt64), dims); }

// ---- Pad --------------------------------------------------------------------------------

struct Pad {
  Dims from, before, to;
};
std::optional<Pad> pad_of(const NodeCall& call) {
  const auto pads = call.list(call.node.opset < 2 ? "paddings" : "pads", 1, 11);
  auto axes = call.list("axes", 3, 18);
  Pad pad{dims_of(call.inputs[0]), Dims(call.inputs[0].dims.size()), dims_of(call.inputs[0])};
  const auto rank = static_cast<std::int64_t>(pad.from.size());
  if (!pads || !axes) return std::nullopt;
  for (std::int64_t d = 0; !call.has(3) && d < rank; ++d) axes->push_back(d);
  if (pads->size() != 2 * axes->size()) return std::nullopt;
  const std::string mode = call.node.text("mode", "constant");
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::int64_t axis = normal_axis((*axes)[i], rank);
    const std::int64_t begin = (*pads)[i], end = (*pads)[i + axes->size()];
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    const auto is_sane = [](std::int64_t v) { return v > -kMost && v < kMost; };
    if (axis < 0 || !is_sane(begin) || !is_sane(end)) return std::nullopt;
    const auto d = static_cast<std::size_t>(axis);
    const std::int64_t dim = pad.from[d];
    const bool has_source = mode == "constant" || dim > 0;
    const bool can_reflect = mode != "reflect" || std::max(begin, end) < dim;
    if (begin + dim + end < 0 || !has_source || !can_reflect) return std::nullopt;
    pad.before[d] = begin;
    pad.to[d] = begin + dim + end;
  }
  return pad;
}
// The stored bits of attribute 'value'; nothing where the type has no such number here.
std::optional<std::uint64_t> pad_value(const NodeCall& call) {
  const std::uint32_t bits = scalar::Soft32::canonical(call.node.real("value", 0));
  const Kit* kit = kit_of(call.inputs[0]);
  if (bits == 0) return 0;
  if (kit == nullptr || !kit->ops->is_float) return std::nullopt;
  const std::uint64_t number = kit->ops->of_real(bits);
  return kit->store ? scalar::evaluate(*kit->store, std::array{number}) : number;
}
TypeResult pad_type(const NodeCall& call, std::size_t output) {
  const auto pad = output == 0 && call.has(0) ? pad_of(call) : std::nullopt;
  if (!pad || (call.has(2) && call.inputs[2].dtype != call.inputs[0].dtype)) {
    return unsupported("pads that nobody can show");
  }
  if (call.node.opset < 11 && !pad_value(call)) return unsupported("a value of this type");
  return shaped(call.inputs[0].dtype, pad->to);
}
// The place within the dimension, -1 for none.
std::int64_t padded_from(const std::string& mode, std::int64_t place, std::int64_t dim) {
  if (place >= 0 && place < dim) return place;
  if (mode == "edge") return std::clamp<std::int64_t>(place, 0, dim - 1);
  if (mode == "wrap") return (place % dim + dim) % dim;
  if (mode == "reflect") return place < 0 ? -place : 2 * (dim - 1) - place;
  return -1;
}
void pad(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Pad p = *pad_of(call);
  const std::string mode = call.node.text("mode", "constant");
  Dims at = split(element, p.to);
  bool inside = true;
  for (std::size_t d = 0; d < at.size(); ++d) {
    at[d] = padded_from(mode, at[d] - p.before[d], p.from[d]);
    inside = inside && at[d] >= 0;
  }
  if (inside) return copy(steps, element_of(0, join(at, p.from)));
  if (call.node.opset < 11) return copy(steps, constant(*pad_value(call)));
  const bool is_given = call.has(2) && call.inputs[2].elements() == 1;
  copy(steps, is_given ? element_of(2, 0) : constant(0));
}

// ---- by shapes --------------------------------------------------------------------------

TypeResult tile_type(const NodeCall& call, std::size_t output) {
  const auto repeats = call.list("", 1, 6);
  if (output != 0 || !call.has(0) || call.node.opset < 6 || !repeats) {
    return unsupported("repeats that nobody can show");
  }
  Dims dims = dims_of(call.inputs[0]);
  if (repeats->size() != dims.size()) return unsupported("repeats that do not fit");
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::int64_t times = (*repeats)[d], most = limits::kTensorElementsMax;
    if (times < 0 || times > most / std::max<std::int64_t>(dims[d], 1)) {
      return unsupported("repeats that do not fit");
    }
    dims[d] *= times;
  }
  return shaped(call.inputs[0].dtype, dims);
}
void tile(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims from = dims_of(call.inputs[0]);
  Dims at = split(element, dims_of(call.outputs[0]));
  for (std::size_t d = 0; d < at.size(); ++d) at[d] %= from[d];
  copy(steps, element_of(0, join(at, from)));
}

template <bool kToSpace>
TypeResult blocks_type(const NodeCall& call, std::size_t output) {
  if (output != 0 || !call.has(0) || call.inputs[0].rank() != 4) return unsupported("this form");
  Dims s = dims_of(call.inputs[0]);
  const std::int64_t b = call.node.integer("blocksize", 0);
  const bool fits =
      b > 0 && b < (1 << 20) &&
      (kToSpace ? s[1] % (b * b) == 0
                : s[2] % b == 0 && s[3] % b == 0 && s[1] <= limits::kTensorElementsMax / (b * b));
  if (!fits) return unsupported("blocks that do not fit");
  s = kToSpace ? Dims{s[0], s[1] / (b * b), s[2] * b, s[3] * b}
               : Dims{s[0], s[1] * b * b, s[2] / b, s[3] / b};
  return shaped(call.inputs[0].dtype, s);
}
template <bool kToSpace>
void blocks(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims from = dims_of(call.inputs[0]), to = dims_of(call.outputs[0]);
  const std::int64_t b = call.node.integer("blocksize", 0);
  const Dims at = split(element, to);
  Dims there = at;
  if (kToSpace) {
    const std::int64_t place = at[2] % b * b + at[3] % b;
    const bool column_row_depth = call.node.text("mode", "DCR") == "CRD";
    there[1] = column_row_depth ? at[1] * b * b + place : place * to[1] + at[1];
    there[2] = at[2] / b;
    there[3] = at[3] / b;
  } else {
    const std::int64_t place = at[1] / from[1];
    there[1] = at[1] % from[1];
    there[2] = at[2] * b + place / b;
    there[3] = at[3] * b + place % b;
  }
  copy(steps, element_of(0, join(there, from)));
}

TypeResult trilu_type(const NodeCall& call, std::size_t output) {
  const auto k = call.list("", 1, 14);
  const bool fits = output == 0 && call.has(0) && call.inputs[0].rank() >= 2 && k && k->size() <= 1;
  if (!fits) return unsupported("a diagonal that nobody can show");
  return call.inputs[0];
}
void trilu(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const auto k = *call.list("", 1, 14);
  const Dims at = split(element, dims_of(call.inputs[0]));
  // Nothing is gained beyond the matrix; so nothing overflows.
  constexpr std::int64_t kFar = limits::kTensorElementsMax;
  const std::int64_t diagonal = k.empty() ? 0 : std::clamp<std::int64_t>(k[0], -kFar, kFar);
  const std::int64_t beyond = at[at.size() - 1] - at[at.size() - 2] - diagonal;
  const bool upper = call.node.integer("upper", 1) != 0;
  const bool kept = upper ? beyond >= 0 : beyond <= 0;
  copy(steps, kept ? element_of(0, element) : constant(0));
}

// ---- by an input's elements -------------------------------------------------------------

// index * stride + base.
Operand stride_to(StepBuilder& steps, Operand index, std::int64_t stride, Operand base) {
  return steps.put(Op::kMulAddInteger, {index, constant(static_cast<std::uint64_t>(stride)), base});
}
Operand stride_to(StepBuilder& steps, Operand index, std::int64_t stride, std::int64_t base) {
  return stride_to(steps, index, stride, constant(static_cast<std::uint64_t>(base)));
}

// The axis that indices go along, or -1.
std::int64_t indexed_axis(const NodeCall& call, std::size_t output) {
  const bool fits = output == 0 && call.inputs.size() == 2 && call.has(0) && call.has(1) &&
                    is_index(call.inputs[1]);
  if (!fits) return -1;
  const std::int64_t axis = normal_axis(call.node.integer("axis", 0), call.inputs[0].rank());
  return axis < 0 || call.inputs[0].dim(static_cast<std::size_t>(axis)) == 0 ? -1 : axis;
}
TypeResult gather_type(const NodeCall& call, std::size_t output) {
  const std::int64_t axis = indexed_axis(call, output);
  if (axis < 0) return unsupported("inputs that do not fit");
  const Dims data = dims_of(call.inputs[0]), indices = dims_of(call.inputs[1]);
  Dims dims(data.begin(), data.begin() + axis);
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), data.begin() + axis + 1, data.end());
  return shaped(call.inputs[0].dtype, dims);
}
void gather(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const AxisView from = view_of(dims_of(call.inputs[0]), indexed_axis(call, 0));
  const AxisView to{call.inputs[1].elements(), from.inner_size};
  const Operand index = index_at(call, steps, to.along(element), from.length);
  const std::int64_t base = from.position(to.outer(element), 0, to.inner(element));
  copy(steps, element_at(0, stride_to(steps, index, from.inner_size, base)));
}

TypeResult gather_elements_type(const NodeCall& call, std::size_t output) {
  const std::int64_t axis = indexed_axis(call, output);
  const bool fits = axis >= 0 && call.inputs[0].rank() == call.inputs[1].rank();
  if (!fits) return unsupported("inputs that do not fit");
  for (std::size_t d = 0; d < call.inputs[0].dims.size(); ++d) {
    const bool is_along = static_cast<std::int64_t>(d) == axis;
    if (!is_along && call.inputs[1].dim(d) > call.inputs[0].dim(d)) {
      return unsupported("inputs that do not fit");
    }
  }
  return shaped(call.inputs[0].dtype, dims_of(call.inputs[1]));
}
void gather_elements(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const auto axis = static_cast<std::size_t>(indexed_axis(call, 0));
  const Dims from = dims_of(call.inputs[0]);
  Dims at = split(element, dims_of(call.inputs[1]));
  at[axis] = 0;
  const Operand index = index_at(call, steps, element, from[axis]);
  const std::int64_t stride = product(std::span(from).subspan(axis + 1));
  copy(steps, element_at(0, stride_to(steps, index, stride, join(at, from))));
}

// Tuples of `depth` indices, each of a slice of `slice` elements, in matching batches.
struct GatherNd {
  std::int64_t batch = 1, depth = 0, slice = 1;
  Dims dims, to;  // the dimensions that the tuples index
};
std::optional<GatherNd> gather_nd_of(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.inputs.size() == 2 && call.has(0) && call.has(1) &&
                     call.inputs[1].is(Element::kInt64) && call.inputs[1].rank() > 0;
  if (!there) return std::nullopt;
  const Dims x = dims_of(call.inputs[0]), at = dims_of(call.inputs[1]);
  const std::int64_t batches = call.node.integer("batch_dims", 0), depth = at.back();
  const auto rank = static_cast<std::int64_t>(x.size());
  const bool fits = batches >= 0 && batches < static_cast<std::int64_t>(at.size()) && depth >= 1 &&
                    batches + depth <= rank;
  if (!fits || !std::equal(x.begin(), x.begin() + batches, at.begin())) return std::nullopt;
  GatherNd g;
  const auto first = static_cast<std::size_t>(batches), end = static_cast<std::size_t>(depth);
  g.depth = depth;
  g.batch = product(std::span(x).first(first));
  g.dims.assign(x.begin() + batches, x.begin() + batches + depth);
  g.slice = product(std::span(x).subspan(first + end));
  g.to.assign(at.begin(), at.end() - 1);
  g.to.insert(g.to.end(), x.begin() + batches + depth, x.end());
  return std::ranges::count(g.dims, 0) > 0 ? std::nullopt : std::optional(g);
}
TypeResult gather_nd_type(const NodeCall& call, std::size_t output) {
  const auto g = gather_nd_of(call, output);
  if (!g) return unsupported("inputs that do not fit");
  return shaped(call.inputs[0].dtype, g->to);
}
void gather_nd(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const GatherNd g = *gather_nd_of(call, 0);
  const std::int64_t tuple = element / g.slice, tuples = call.inputs[1].elements() / g.depth;
  const std::int64_t batch = tuple / (tuples / g.batch), size = product(g.dims) * g.slice;
  Operand place = constant(static_cast<std::uint64_t>(batch * size + element % g.slice));
  std::int64_t stride = size;
  for (std::int64_t d = 0; d < g.depth; ++d) {
    const std::int64_t dim = g.dims[static_cast<std::size_t>(d)];
    stride /= dim;
    place = stride_to(steps, index_at(call, steps, tuple * g.depth + d, dim), stride, place);
  }
  copy(steps, element_at(0, place));
}

// The first `length` entries along the time axis reversed, a length for each batch entry.
TypeResult reverse_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.has(0) && call.has(1) && call.inputs[0].rank() >= 2;
  if (!there) return unsupported("inputs that do not fit");
  const std::int64_t rank = call.inputs[0].rank();
  const std::int64_t time = normal_axis(call.node.integer("time_axis", 0), rank);
  const std::int64_t batch = normal_axis(call.node.integer("batch_axis", 1), rank);
  const bool fits = time >= 0 && batch >= 0 && time != batch &&
                    call.inputs[1] == int64s({call.inputs[0].dim(static_cast<std::size_t>(batch))});
  if (!fits) return unsupported("inputs that do not fit");
  return call.inputs[0];
}
void reverse_sequence(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims dims = dims_of(call.inputs[0]);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto time = static_cast<std::size_t>(normal_axis(call.node.integer("time_axis", 0), rank));
  const auto batch =
      static_cast<std::size_t>(normal_axis(call.node.integer("batch_axis", 1), rank));
  Dims at = split(element, dims);
  const Operand t = constant(static_cast<std::uint64_t>(at[time]));
  const Operand length = element_of(1, at[batch]);
  const Operand turns = steps.put(Op::kLessInteger, {t, length});
  const Operand last = steps.put(Op::kSubInteger, {length, constant(1)});
  const Operand mirrored = steps.put(Op::kSubInteger, {last, t});
  const Operand from = steps.put(Op::kSelect, {turns, mirrored, t});
  const Operand kept =
      steps.put(Op::kWrapIndex, {from, constant(static_cast<std::uint64_t>(dims[time]))});
  at[time] = 0;
  const std::int64_t stride = product(std::span(dims).subspan(time + 1));
  copy(steps, element_at(0, stride_to(steps, kept, stride, join(at, dims))));
}

// ---- OneHot -----------------------------------------------------------------------------

std::optional<std::int64_t> depth_of(const NodeCall& call) {
  if (!call.has(1) || call.inputs[1].elements() != 1 || !is_ordered(call.inputs[1])) return {};
  const std::int64_t given = (*call.lists[1])[0];
  if (!is_float(call.inputs[1])) return given;
  return is_binary32(call.inputs[1]) && call.inputs[1].is(Element::kFloat32)
             ? std::optional(scalar::Soft32::to_integer(static_cast<std::uint32_t>(given), 63))
             : std::nullopt;
}
TypeResult one_hot_type(const NodeCall& call, std::size_t output) {
  const auto depth = depth_of(call);
  const bool there = output == 0 && depth && call.has(0) && is_ordered(call.inputs[0]) &&
                     call.has(2) && dims_of(call.inputs[2]) == Dims{2};
  if (!there || *depth < 0) return unsupported("a depth that nobody can show");
  Dims dims = dims_of(call.inputs[0]);
  const std::int64_t axis =
      normal_axis(call.node.integer("axis", -1), static_cast<std::int64_t>(dims.size()) + 1);
  if (axis < 0) return unsupported("an axis");
  dims.insert(dims.begin() + axis, *depth);
  return shaped(call.inputs[2].dtype, dims);
}
void one_hot(const NodeCall& call, std::size_t, std::int64_t element, StepBuilder& steps) {
  const Dims to = dims_of(call.outputs[0]);
  const AxisView view =
      view_of(to, normal_axis(call.node.integer("axis", -1), static_cast<std::int64_t>(to.size())));
  const std::int64_t entry = view.outer(element) * view.inner_size + view.inner(element);
  const Kit& kit = *kit_of(call.inputs[0]);
  Operand index = element_of(0, entry);
  if (kit.load) index = steps.put(*kit.load, {index});
  if (kit.ops->is_float) {
    const bool is_short = is_binary32(call.inputs[0]);
    index = steps.put(is_short ? Op::kIntegerOfFloat : Op::kIntegerOfDouble, {index});
  }
  const std::int64_t along = view.along(element), behind = along - view.length;
  const Operand first =
      steps.put(Op::kEqualInteger, {index, constant(static_cast<std::uint64_t>(along))});
  const Operand second =
      steps.put(Op::kEqualInteger, {index, constant(static_cast<std::uint64_t>(behind))});
  const Operand is_on = steps.put(Op::kSelect, {first, constant(1), second});
  steps.put(Op::kSelect, {is_on, element_of(2, 1), element_of(2, 0)});
}

}  // namespace

std::span<const OperatorRow> placement_rows() {
  static constexpr OperatorRow kRows[] = {
      {"DepthToSpace", 1, 0, "all", blocks_type<true>, blocks<true>},
      {"Gather", 1, 0, "all", gather_type, gather},
      {"GatherElements", 11, 0, "all", gather_elements_type, gather_elements},
      {"GatherND", 11, 0, "all", gather_nd_type, gather_nd},
      {"OneHot", 9, 0, "all; indices but of uint64", one_hot_type, one_hot},
      {"Pad", 1, 0, "all", pad_type, pad},
      {"ReverseSequence", 10, 0, "all", reverse_type, reverse_sequence},
      {"SpaceToDepth", 1, 0, "all", blocks_type<false>, blocks<false>},
      {"Tile", 6, 0, "all", tile_type, tile},
      {"Trilu", 14, 0, "all", trilu_type, trilu},
  };
  return kRows;
}

}  // namespace commensal::arbiter
