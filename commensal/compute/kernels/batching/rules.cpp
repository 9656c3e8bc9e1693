// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/batching/rules.hpp>

namespace commensal::kernels::batching {

using tensor::Shape;
using tensor::Tensor;

namespace {

constexpr const char* kAlongRows = "works along the rows of a batch";

std::string input_text(const Trial& t, int i) {
  return fmt::format("input {}, {},", i, t.call.in(i).type().text());
}

/// A constant that is laid over a value of `rank` dimensions gives every row the same.
bool same_for_rows(const Shape& shape, int rank) {
  return shape.rank() < rank || (shape.rank() == rank && (rank == 0 || shape[0] == 1));
}

bool is_first_axis(std::int64_t axis, int rank) { return axis == 0 || axis == -rank; }

/// Works along the attribute `axis` of the first input, which is the batched one.
std::string along(const Trial& t, std::int64_t fallback) {
  const std::int64_t axis = t.call.attributes->integer("axis", fallback).value_or(0);
  if (is_first_axis(axis, t.shape(0).rank())) return kAlongRows;
  return only_first(t);
}

/// The elements of a constant list of integers.
std::vector<std::int64_t> integers_of(const Tensor& list) {
  std::vector<std::int64_t> made;
  if (list.dtype() == tensor::DType::kInt64) {
    for (const std::int64_t x : list.data<std::int64_t>()) made.push_back(x);
  } else if (list.dtype() == tensor::DType::kInt32) {
    for (const std::int32_t x : list.data<std::int32_t>()) made.push_back(x);
  }
  return made;
}

/// An argument that older opsets have as an attribute, later ones as an input; absent: empty.
std::vector<std::int64_t> argument(const Trial& t, const char* name, int input) {
  if (t.has(input)) return integers_of(t.call.in(input));
  return t.call.attributes->integers(name).value_or(std::vector<std::int64_t>{});
}

bool names_first_axis(const std::vector<std::int64_t>& axes, int rank) {
  return std::ranges::any_of(axes, [rank](std::int64_t axis) { return is_first_axis(axis, rank); });
}

std::string product(const Trial& t, int left, int right) {
  const int a = t.shape(left).rank(), b = t.shape(right).rank();
  if (t.is_batched(left) && t.is_batched(right)) {
    return a == b && a >= 3 ? "" : "multiplies rows with rows";
  }
  if (t.is_batched(left)) {
    const bool fits = b <= 2 || (a >= 3 && same_for_rows(t.shape(right), a));
    return a >= 2 && fits ? "" : kAlongRows;
  }
  return b >= 3 && same_for_rows(t.shape(left), b) ? "" : kAlongRows;
}

/// Scales and zero points are single numbers, the same for all rows.
std::string product_of_codes(const Trial& t, int right) {
  for (int i = 1; i < static_cast<int>(t.batched.size()); ++i) {
    if (i == right || !t.has(i)) continue;
    if (t.is_batched(i) || t.shape(i).elements() != 1) {
      return fmt::format("takes {} expected one number", input_text(t, i));
    }
  }
  return product(t, 0, right);
}

/// Before opset 7 what trains is what does not say that it is a test.
bool trained_by_default(const Trial& t) {
  return t.call.opset < 7 && t.call.attributes->integer("is_test", 0).value_or(0) == 0;
}

}  // namespace

/// All inputs but the first are constant.
std::string only_first(const Trial& t) {
  for (int i = 0; i < static_cast<int>(t.batched.size()); ++i) {
    if (t.has(i) && t.is_batched(i) != (i == 0)) {
      return fmt::format("takes {} which {}", input_text(t, i),
                         i == 0 ? "has no rows, beside one that has" : "has rows of its own");
    }
  }
  return {};
}

std::string elementwise(const Trial& t) {
  const int rank = t.call.outputs[0].shape.rank();
  for (int i = 0; i < static_cast<int>(t.batched.size()); ++i) {
    if (!t.has(i)) continue;
    const bool fits = t.is_batched(i) ? t.shape(i).rank() == rank : same_for_rows(t.shape(i), rank);
    if (!fits) return fmt::format("lays {} across the rows of a batch", input_text(t, i));
  }
  // Before opset 7 `axis` says where the second input is laid.
  if (t.call.opset < 7 && t.has(1) && !t.is_batched(1) && t.call.attributes->has("axis") &&
      t.call.attributes->integer("axis", 0).value_or(0) == 0 && t.shape(1).elements() != 1) {
    return fmt::format("lays {} across the rows of a batch", input_text(t, 1));
  }
  return {};
}

std::string along_first(const Trial& t) { return along(t, 0); }
std::string along_last(const Trial& t) { return along(t, -1); }
std::string softmax(const Trial& t) { return along(t, t.call.opset < 13 ? 1 : -1); }

std::string concat(const Trial& t) {
  const auto axis = t.call.attributes->integer("axis", 1).value_or(0);
  if (is_first_axis(axis, t.call.outputs[0].shape.rank())) return kAlongRows;
  for (int i = 0; i < static_cast<int>(t.batched.size()); ++i) {
    if (!t.is_batched(i)) return fmt::format("takes {} which has no rows", input_text(t, i));
  }
  return {};
}

std::string reduce(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  const auto axes = argument(t, "axes", 1);
  if (axes.empty()) {
    const bool nothing = t.call.attributes->integer("noop_with_empty_axes", 0).value_or(0) != 0;
    return nothing ? "" : kAlongRows;
  }
  return names_first_axis(axes, t.shape(0).rank()) ? kAlongRows : "";
}

std::string squeeze(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  const auto axes = argument(t, "axes", 1);
  if (axes.empty()) return "would squeeze a batch of one row";
  return names_first_axis(axes, t.shape(0).rank()) ? kAlongRows : "";
}

std::string unsqueeze(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  const bool moves = names_first_axis(argument(t, "axes", 1), t.call.outputs[0].shape.rank());
  return moves ? "moves the rows to another axis" : "";
}

std::string slice(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  const auto axes = argument(t, "axes", 3);  // absent: from the first one on
  return axes.empty() || names_first_axis(axes, t.shape(0).rank()) ? "cuts the rows of a batch"
                                                                   : "";
}

std::string pad(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  const auto pads = argument(t, t.call.attributes->has("paddings") ? "paddings" : "pads", 1);
  const int rank = t.shape(0).rank();
  const auto axes = t.has(3) ? integers_of(t.call.in(3)) : std::vector<std::int64_t>{0};
  const std::size_t half = pads.size() / 2;
  for (std::size_t i = 0; i < axes.size() && i < half; ++i) {
    if (is_first_axis(axes[i], rank) && (pads[i] != 0 || pads[i + half] != 0)) {
      return "pads the rows of a batch";
    }
  }
  return {};
}

std::string tile(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  const auto repeats = argument(t, "", 1);
  return t.call.opset >= 6 && !repeats.empty() && repeats[0] == 1 ? "" : "repeats rows";
}

std::string transpose(const Trial& t) {
  const auto perm = t.call.attributes->integers("perm").value_or(std::vector<std::int64_t>{});
  const bool stays = perm.empty() ? t.shape(0).rank() == 1 : perm[0] == 0;
  return stays ? "" : "moves the rows to another axis";
}

std::string flatten(const Trial& t) {
  const auto axis = t.call.attributes->integer("axis", 1).value_or(0);
  return is_first_axis(axis, t.shape(0).rank()) ? "lays the rows side by side" : "";
}

/// The rows stay whole where the first dimension is copied, is the number of rows, or is what
/// remains when the others, which do not depend on it, are taken away.
std::string reshape(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  const auto dims = argument(t, "shape", 1);
  if (std::find(t.is_rows.begin() + (t.is_rows.empty() ? 0 : 1), t.is_rows.end(), true) !=
      t.is_rows.end()) {
    return "moves the rows to another axis";
  }
  const bool zero_copies = t.call.attributes->integer("allowzero", 0).value_or(0) == 0;
  const bool keeps = !dims.empty() && ((dims[0] == 0 && zero_copies) || dims[0] == -1 ||
                                       (!t.is_rows.empty() && t.is_rows[0]));
  return keeps ? "" : fmt::format("gives {} whatever the number of rows", t.call.outputs[0].text());
}

std::string gather(const Trial& t) {
  const auto axis = t.call.attributes->integer("axis", 0).value_or(0);
  const bool first = is_first_axis(axis, t.shape(0).rank());
  if (t.is_batched(0) == t.is_batched(1)) return "looks up rows in rows";
  if (t.is_batched(0)) return first ? "picks rows of a batch" : "";
  return first ? "" : "moves the rows to another axis";
}

std::string gather_elements(const Trial& t) {
  const auto axis = t.call.attributes->integer("axis", 0).value_or(0);
  if (is_first_axis(axis, t.shape(0).rank())) return "picks rows of a batch";
  return t.is_batched(0) && t.is_batched(1) ? "" : "looks up rows by a constant";
}

std::string one_hot(const Trial& t) {
  const auto axis = t.call.attributes->integer("axis", -1).value_or(0);
  const int rank = t.call.outputs[0].shape.rank();
  return is_first_axis(axis, rank) ? "moves the rows to another axis" : only_first(t);
}

std::string grid_sample(const Trial& t) {
  return t.is_batched(0) && t.is_batched(1) ? "" : "has an input without rows";
}

std::string matmul(const Trial& t) { return product(t, 0, 1); }
std::string integer_matmul(const Trial& t) { return product_of_codes(t, 1); }
std::string quantised_matmul(const Trial& t) { return product_of_codes(t, 3); }

std::string gemm(const Trial& t) {
  const bool transposed = t.call.attributes->integer("transA", 0).value_or(0) != 0;
  if (!t.is_batched(0) || transposed || t.is_batched(1)) return kAlongRows;
  if (!t.has(2)) return {};
  const bool fits = t.is_batched(2) ? t.shape(2).rank() == 2 : same_for_rows(t.shape(2), 2);
  return fits ? "" : fmt::format("lays {} across the rows of a batch", input_text(t, 2));
}

std::string layer_norm(const Trial& t) {
  if (auto why = along(t, -1); !why.empty()) return why;
  for (int i = 1; i < static_cast<int>(t.batched.size()); ++i) {
    if (t.has(i) && !same_for_rows(t.shape(i), t.shape(0).rank())) {
      return fmt::format("lays {} across the rows of a batch", input_text(t, i));
    }
  }
  return {};
}

std::string batch_norm(const Trial& t) {
  if (t.call.attributes->integer("training_mode", 0).value_or(1) != 0 || t.call.output_count > 1 ||
      trained_by_default(t)) {
    return "learns from the whole batch";
  }
  return t.shape(0).rank() < 2 ? kAlongRows : only_first(t);
}

std::string quantise(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  if (t.shape(1).elements() == 1 && t.shape(1).rank() <= 1) return {};
  const auto axis = t.call.attributes->integer("axis", 1).value_or(0);
  if (t.shape(1).rank() > 1 || is_first_axis(axis, t.shape(0).rank())) {
    return fmt::format("lays {} across the rows of a batch", input_text(t, 1));
  }
  return {};
}

std::string dropout(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  const bool told = t.has(2) && !t.call.in(2).bytes().empty() && t.call.in(2).bytes()[0] != 0;
  return told || trained_by_default(t) ? "draws by position in the batch" : "";
}

std::string max_pool(const Trial& t) {
  if (t.call.output_count > 1 && t.is_asked[1]) {
    return "gives indices that count through the whole batch";
  }
  return only_first(t);
}

/// An axis of scale 1 is left as it is.
std::string resize(const Trial& t) {
  if (auto why = only_first(t); !why.empty()) return why;
  const auto mode = t.call.attributes->text("coordinate_transformation_mode", "").value_or("");
  if (mode == "tf_crop_and_resize") return "crops the rows of a batch";
  const auto axes = t.call.attributes->integers("axes").value_or(std::vector<std::int64_t>{});
  if (!axes.empty()) {
    return names_first_axis(axes, t.shape(0).rank()) ? "resizes the rows of a batch" : "";
  }
  auto scales = t.call.attributes->reals("scales").value_or(std::vector<float>{});
  const int at = t.call.opset >= 11 ? 2 : 1;
  if (t.has(at) && t.call.in(at).dtype() == tensor::DType::kFloat32) {
    const auto given = t.call.in(at).data<float>();
    scales.assign(given.begin(), given.end());
  }
  return !scales.empty() && scales[0] == 1 ? "" : "resizes the rows of a batch";
}

std::string trilu(const Trial& t) { return t.shape(0).rank() < 3 ? kAlongRows : only_first(t); }

}  // namespace commensal::kernels::batching
