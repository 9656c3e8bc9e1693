// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/string_codes.hpp>

#include <algorithm>

namespace commensal::kernels {
namespace {

bool is_strings(const Tensor* tensor) {
  return tensor != nullptr && tensor->dtype() == tensor::DType::kString;
}

Tensor coded(Pulse& pulse, const Tensor& strings, const std::vector<std::string_view>& pool) {
  std::vector<std::int64_t> codes;
  codes.reserve(static_cast<std::size_t>(strings.elements()));
  for (const std::string_view text : strings.strings()) {
    pulse(64);
    codes.push_back(std::ranges::lower_bound(pool, text) - pool.begin());
  }
  return Tensor::of<std::int64_t>(strings.shape(), codes);
}

// Codes are ranks: they may be moved and compared, never added up or mixed with numbers.
core::Result<void> check_strings(Places inputs, const Call& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor* input = call.inputs[i];
    if (input == nullptr || is_strings(input) == inputs.has(i)) continue;
    return core::fail(core::ErrorCode::kInvalidArgument, "input {} must {}be strings here", i,
                      is_strings(input) ? "not " : "");
  }
  COMMENSAL_ASSIGN(const auto reduction, call.attributes->text("reduction", "none"));
  if (reduction == "none") return {};
  return core::fail(core::ErrorCode::kInvalidArgument, "reduction '{}' of strings", reduction);
}

}  // namespace

core::Result<StringCodes> StringCodes::of(const Operator& op, const Call& call) {
  StringCodes made;
  made.given_ = call.inputs;
  if (op.strings == Strings::kOwn || std::ranges::none_of(call.inputs, is_strings)) return made;
  if (op.strings == Strings::kRefused) {
    return core::fail(core::ErrorCode::kUnsupported, "it takes no strings");
  }
  COMMENSAL_TRY(check_strings(op.codes.inputs, call));
  made.outputs_ = op.codes.outputs;
  made.inputs_.assign(call.inputs.begin(), call.inputs.end());
  made.pool_.push_back("");
  for (const Tensor* input : call.inputs) {
    if (!is_strings(input)) continue;
    made.pool_.insert(made.pool_.end(), input->strings().begin(), input->strings().end());
    made.owners_.push_back(input->owner());
  }
  std::ranges::sort(made.pool_, [&](std::string_view a, std::string_view b) {
    call.pulse(8);
    return a < b;
  });
  made.pool_.erase(std::unique(made.pool_.begin(), made.pool_.end()), made.pool_.end());
  for (const Tensor*& input : made.inputs_) {
    if (!is_strings(input)) continue;
    made.coded_.push_back(std::make_unique<const Tensor>(coded(call.pulse, *input, made.pool_)));
    input = made.coded_.back().get();
  }
  return made;
}

std::vector<Tensor> StringCodes::decoded(std::vector<Tensor> outputs, Pulse& pulse) const {
  if (pool_.empty()) return outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs_.has(i)) continue;
    std::vector<std::string_view> texts;
    texts.reserve(static_cast<std::size_t>(outputs[i].elements()));
    for (const std::int64_t code : outputs[i].data<std::int64_t>()) {
      pulse();
      texts.push_back(pool_[static_cast<std::size_t>(code)]);
    }
    outputs[i] = Tensor::of_string_views(outputs[i].shape(), std::move(texts), owners_);
  }
  return outputs;
}

}  // namespace commensal::kernels
