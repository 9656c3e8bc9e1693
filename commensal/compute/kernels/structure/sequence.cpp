// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/kernels/structure/call.hpp>
#include <commensal/compute/kernels/structure/ops.hpp>

namespace commensal::kernels::structure {

using core::ErrorCode;
using core::fail;
using core::Result;
using Values = std::vector<Value>;

namespace {

// Position `input` counted from the front, or from the back if negative; `count` of them exist.
Result<std::size_t> position(const ValueCall& call, int input, std::size_t count) {
  COMMENSAL_ASSIGN(const std::int64_t given, integer_input(call, input));
  const auto size = static_cast<std::int64_t>(count);
  if (given >= -size && given < size) {
    return static_cast<std::size_t>(given < 0 ? given + size : given);
  }
  return fail(ErrorCode::kInvalidArgument, "position {} is outside of the sequence's {}", given,
              size);
}

// All items of a sequence have one element type, and there is an end to them.
Result<void> check_added(const Values& items, const Tensor& added) {
  if (items.size() == limits::kSequenceItemsMax) {
    return fail(ErrorCode::kResourceExhausted, "a sequence of more than {} items",
                limits::kSequenceItemsMax);
  }
  if (items.empty() || !items.front().is_tensor() ||
      items.front().tensor().dtype() == added.dtype()) {
    return {};
  }
  return fail(ErrorCode::kInvalidArgument, "a sequence of {} takes no {}",
              traits(items.front().tensor().dtype()).name, traits(added.dtype()).name);
}

Result<void> check_length(std::int64_t items) {
  if (items <= static_cast<std::int64_t>(limits::kSequenceItemsMax)) return {};
  return fail(ErrorCode::kResourceExhausted, "a sequence of {} items, at most {} are accepted",
              items, limits::kSequenceItemsMax);
}

// The lengths that `split` asks for along an axis of `length`.
Result<std::vector<std::int64_t>> lengths_of(const ValueCall& call, std::int64_t length) {
  if (!call.has(1)) {
    COMMENSAL_TRY(check_length(length));
    return std::vector<std::int64_t>(static_cast<std::size_t>(length), 1);
  }
  COMMENSAL_ASSIGN(const Tensor split, tensor_input(call, 1));
  if (split.shape().rank() == 0) {
    COMMENSAL_ASSIGN(const std::int64_t chunk, integer_input(call, 1));
    if (chunk < 1) return fail(ErrorCode::kInvalidArgument, "split must be at least 1");
    COMMENSAL_TRY(check_length(length / chunk));
    std::vector<std::int64_t> lengths;
    for (std::int64_t at = 0; at < length; at += chunk) {
      lengths.push_back(std::min(chunk, length - at));
    }
    return lengths;
  }
  COMMENSAL_TRY(check_length(split.elements()));
  if (split.dtype() == tensor::DType::kInt64) {
    return std::vector<std::int64_t>(split.data<std::int64_t>().begin(),
                                     split.data<std::int64_t>().end());
  }
  if (split.dtype() != tensor::DType::kInt32) {
    return fail(ErrorCode::kInvalidArgument, "split must be int64 or int32, not {}",
                split.type().text());
  }
  return std::vector<std::int64_t>(split.data<std::int32_t>().begin(),
                                   split.data<std::int32_t>().end());
}

Result<Tensor> slice(const ValueCall& call, const Tensor& whole, std::int64_t axis,
                     std::int64_t begin, std::int64_t end) {
  const auto one = [](std::int64_t value) { return scalar_of(value).reshaped({1}); };
  return invoke(call, Role::kSlice, {whole, one(begin), one(end), one(axis)});
}

}  // namespace

Result<Values> identity(const ValueCall& call) { return Values{call.in(0)}; }

Result<Values> sequence_construct(const ValueCall& call) {
  Values items;
  for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
    COMMENSAL_ASSIGN(const Tensor item, tensor_input(call, i));
    COMMENSAL_TRY(check_added(items, item));
    items.emplace_back(item);
  }
  return Values{Value::sequence(std::move(items))};
}

Result<Values> sequence_empty(const ValueCall&) { return Values{Value::sequence({})}; }

Result<Values> sequence_insert(const ValueCall& call) {
  COMMENSAL_ASSIGN(Values items, sequence_input(call, 0));
  COMMENSAL_ASSIGN(const Tensor item, tensor_input(call, 1));
  COMMENSAL_TRY(check_added(items, item));
  std::size_t at = items.size();
  if (call.has(2)) {
    COMMENSAL_ASSIGN(const std::int64_t given, integer_input(call, 2));
    // The end is a position too, counted from the front only.
    if (given != static_cast<std::int64_t>(items.size())) {
      COMMENSAL_ASSIGN(at, position(call, 2, items.size()));
    }
  }
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), item);
  return Values{Value::sequence(std::move(items))};
}

Result<Values> sequence_erase(const ValueCall& call) {
  COMMENSAL_ASSIGN(Values items, sequence_input(call, 0));
  if (items.empty()) return fail(ErrorCode::kInvalidArgument, "an empty sequence has no item");
  std::size_t at = items.size() - 1;
  if (call.has(1)) {
    COMMENSAL_ASSIGN(at, position(call, 1, items.size()));
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return Values{Value::sequence(std::move(items))};
}

Result<Values> sequence_at(const ValueCall& call) {
  COMMENSAL_ASSIGN(const Values items, sequence_input(call, 0));
  COMMENSAL_ASSIGN(const std::size_t at, position(call, 1, items.size()));
  return Values{items[at]};
}

Result<Values> sequence_length(const ValueCall& call) {
  COMMENSAL_ASSIGN(const Values items, sequence_input(call, 0));
  return Values{scalar_of(static_cast<std::int64_t>(items.size()))};
}

Result<Values> split_to_sequence(const ValueCall& call) {
  COMMENSAL_ASSIGN(const Tensor whole, tensor_input(call, 0));
  COMMENSAL_ASSIGN(const std::int64_t asked, call.attributes->integer("axis", 0));
  COMMENSAL_ASSIGN(const std::int64_t keeps, call.attributes->integer("keepdims", 1));
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(asked, whole.shape().rank()));
  COMMENSAL_ASSIGN(const auto lengths, lengths_of(call, whole.shape()[axis]));
  Values items;
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    call.threads.yield();
    if (length < 0 || length > whole.shape()[axis] - at) break;
    if (!call.has(1) && keeps == 0) {
      COMMENSAL_ASSIGN(const Tensor part, part_at(call, whole, axis, at));
      items.emplace_back(part);
    } else {
      COMMENSAL_ASSIGN(const Tensor part, slice(call, whole, axis, at, at + length));
      items.emplace_back(part);
    }
    at += length;
  }
  if (items.size() != lengths.size() || at != whole.shape()[axis]) {
    return fail(ErrorCode::kInvalidArgument, "split must add up to the axis' {} elements",
                whole.shape()[axis]);
  }
  return Values{Value::sequence(std::move(items))};
}

Result<Values> concat_from_sequence(const ValueCall& call) {
  COMMENSAL_ASSIGN(const Values items, sequence_input(call, 0));
  COMMENSAL_ASSIGN(const std::int64_t axis, call.attributes->integer("axis", 0));
  COMMENSAL_ASSIGN(const std::int64_t is_new, call.attributes->integer("new_axis", 0));
  if (items.empty()) return fail(ErrorCode::kInvalidArgument, "the sequence is empty");
  std::vector<Tensor> parts;
  for (const Value& item : items) {
    if (!item.is_tensor()) return fail(ErrorCode::kInvalidArgument, "an item is {}", item.text());
    parts.push_back(item.tensor());
  }
  COMMENSAL_ASSIGN(const Tensor whole,
                   is_new != 0 ? stack(call, parts, axis) : concatenate(call, parts, axis));
  return Values{whole};
}

Result<Values> optional(const ValueCall& call) {
  return Values{call.has(0) ? call.in(0) : Value()};
}

Result<Values> optional_has_element(const ValueCall& call) {
  return Values{scalar_of(call.has(0))};
}

Result<Values> optional_get_element(const ValueCall& call) {
  if (call.has(0)) return Values{call.in(0)};
  return fail(ErrorCode::kInvalidArgument, "the optional is empty");
}

}  // namespace commensal::kernels::structure
