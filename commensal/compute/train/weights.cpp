// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/differentiate.hpp>
#include <commensal/compute/train/weights.hpp>
#include <set>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using graph::Graph;
using graph::ValueId;

ValueId initialiser_named(const Graph& model, std::string_view name) {
  const auto at = std::ranges::find_if(
      model.initialisers, [&](const auto& entry) { return model.name_of(entry.first) == name; });
  return at == model.initialisers.end() ? graph::kAbsent : at->first;
}

const tensor::Tensor* initialiser_of(const Graph& model, std::string_view name) {
  const ValueId id = initialiser_named(model, name);
  return id == graph::kAbsent ? nullptr : &model.initialisers.at(id);
}

Result<std::vector<std::string>> trained_weights(const Graph& model, const std::string& output) {
  COMMENSAL_ASSIGN(const auto all, grad::weights_of(model, output));
  std::set<ValueId> statistics;
  for (const graph::Node& node : model.nodes) {
    if (node.op->role != kernels::Role::kBatchNormalization || node.inputs.size() < 5) continue;
    statistics.insert({node.inputs[3], node.inputs[4]});
  }
  std::vector<std::string> made;
  for (const std::string& name : all) {
    const ValueId id = initialiser_named(model, name);
    if (model.initialisers.at(id).shape().rank() > 0 && !statistics.contains(id))
      made.push_back(name);
  }
  return made;
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kSome = 6;
  std::string made;
  const std::size_t shown = names.size() > kSome + 1 ? kSome : names.size();
  for (std::size_t i = 0; i < shown; ++i) made += (i == 0 ? "" : ", ") + names[i];
  if (shown < names.size()) made += fmt::format(" and {} more", names.size() - shown);
  return made;
}

bool fits(std::string_view pattern, std::string_view text) {
  // Where it does not go on, the last * takes one character more.
  std::size_t at = 0, last = std::string_view::npos, taken = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      last = at++;
      taken = i;
    } else if (at < pattern.size() && pattern[at] == text[i]) {
      ++at;
      ++i;
    } else if (last != std::string_view::npos) {
      at = last + 1;
      i = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

Result<std::vector<std::string>> chosen_weights(const Graph& model, const std::string& output,
                                                const std::vector<std::string>& named) {
  COMMENSAL_ASSIGN(const auto all, trained_weights(model, output));
  std::vector<std::string> made;
  std::set<std::string> patterned;
  for (const std::string& name : named) {
    if (name.find('*') == std::string::npos) {
      if (initialiser_of(model, name) == nullptr) {
        return fail(ErrorCode::kInvalidArgument, "the model has no weight '{}', it has {}", name,
                    some_of(all));
      }
      made.push_back(name);
      continue;
    }
    bool any = false;
    for (const std::string& one : all) {
      if (!fits(name, one)) continue;
      any = true;
      patterned.insert(one);
    }
    if (any) continue;
    return fail(ErrorCode::kInvalidArgument, "'{}' fits none of the model's {} weights: {}", name,
                all.size(), some_of(all));
  }
  for (const std::string& one : all) {
    if (patterned.contains(one) && std::ranges::find(made, one) == made.end()) made.push_back(one);
  }
  return made;
}

}  // namespace commensal::train
