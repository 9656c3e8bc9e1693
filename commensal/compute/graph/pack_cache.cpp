// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/pack_cache.hpp>

namespace commensal::graph {

using core::Result;
using kernels::Call;
using tensor::Tensor;

namespace {

bool lie_together(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.place() == b.place();
}

bool same_attribute(const kernels::Attribute& a, const kernels::Attribute& b) {
  return std::visit(
      [&]<class T>(const T& left) {
        const T* right = std::get_if<T>(&b);
        if constexpr (std::is_same_v<T, Tensor>) {
          return right != nullptr && lie_together(left, *right);
        } else {
          return right != nullptr && left == *right;
        }
      },
      a);
}

bool same_attributes(const kernels::Attributes& a, const kernels::Attributes& b) {
  return std::ranges::equal(a.all(), b.all(), [](const auto& left, const auto& right) {
    return left.first == right.first && same_attribute(left.second, right.second);
  });
}

}  // namespace

// Large weights are read here and, most of them, never again. (Rows that pack them use
// Tensor::read_once or Constant, so that no copy stays.)
Result<std::shared_ptr<const kernels::Packed>> PackCache::pack(const Node& node, Call call,
                                                               kernels::Isa isa) const {
  const auto store = folder_ == nullptr ? nullptr : folder_->store_for(node, call, isa);
  call.store = store.get();
  auto made = node.op->pack(call, isa);
  for (const Tensor* input : call.inputs) {
    if (input != nullptr) input->forget_pages();
  }
  return made;
}

bool PackCache::same(const Entry& entry, const Node& node, const Call& call) {
  if (entry.op != node.op || entry.constants.size() != call.inputs.size()) return false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor none, &now = call.inputs[i] == nullptr ? none : *call.inputs[i];
    if (!lie_together(entry.constants[i], now)) return false;
  }
  return same_attributes(entry.attributes, node.attributes);
}

Result<std::shared_ptr<const kernels::Packed>> PackCache::packed(const Node& node, const Call& call,
                                                                 kernels::Isa isa) {
  Entry entry{node.op, node.attributes, {}, nullptr};
  const void* where = nullptr;
  for (const Tensor* constant : call.inputs) {
    entry.constants.push_back(constant == nullptr ? Tensor() : *constant);
    if (where == nullptr && constant != nullptr) where = constant->place();
  }
  if (where == nullptr) return node.op->pack(call, isa);
  const auto [begin, end] = entries_.equal_range(where);
  for (auto at = begin; at != end; ++at) {
    if (same(at->second, node, call)) return at->second.made;
  }
  COMMENSAL_ASSIGN(entry.made, pack(node, call, isa));
  return entries_.emplace(where, std::move(entry))->second.made;
}

}  // namespace commensal::graph
