// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/pack_cache.hpp>

namespace commensal::graph {

using kernels::Attributes;
using kernels::Call;
using kernels::Packed;
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

bool same_attributes(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a.all(), b.all(), [](const auto& left, const auto& right) {
    return left.first == right.first && same_attribute(left.second, right.second);
  });
}

bool same_attributes(const Attributes& a, const Attributes& b,
                     std::span<const std::string_view> names) {
  return std::ranges::all_of(names, [&](std::string_view name) {
    const kernels::Attribute *left = a.find(name), *right = b.find(name);
    if (left == nullptr || right == nullptr) return left == right;
    return same_attribute(*left, *right);
  });
}

/// Undefined behind the last.
Tensor at(const std::vector<Tensor>& constants, std::size_t i) {
  return i < constants.size() ? constants[i] : Tensor();
}

bool same_constants(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                    const kernels::Places* which) {
  if (which == nullptr && a.size() != b.size()) return false;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if ((which == nullptr || which->has(i)) && !lie_together(at(a, i), at(b, i))) return false;
  }
  return true;
}

const void* place_of(const std::vector<Tensor>& constants) {
  for (const Tensor& constant : constants) {
    if (constant.defined()) return constant.place();
  }
  return nullptr;
}

}  // namespace

// Large weights are read here and, most of them, never again. (Rows that pack them use
// Tensor::read_once or Constant, so that no copy stays.)
PackCache::PackedResult PackCache::pack(const Node& node, Call call, kernels::Isa isa) const {
  const auto store = folder_ == nullptr ? nullptr : folder_->store_for(node, call, isa);
  call.store = store.get();
  auto made = node.op->pack(call, isa);
  for (const Tensor* input : call.inputs) {
    if (input != nullptr) input->forget_pages();
  }
  return made;
}

std::optional<std::shared_ptr<const Packed>> PackCache::find(const Entry& entry,
                                                             bool in_all) const {
  const kernels::Packs* const packs = entry.op->packs ? &*entry.op->packs : nullptr;
  const auto is_like = [&](const Entry& other) {
    if (other.op != entry.op) return false;
    return in_all ? same_constants(other.constants, entry.constants, nullptr) &&
                        same_attributes(other.attributes, entry.attributes)
                  : same_constants(other.constants, entry.constants, &packs->inputs) &&
                        same_attributes(other.attributes, entry.attributes, packs->attributes);
  };
  {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = entries_.equal_range(place_of(entry.constants));
    for (auto at = begin; at != end; ++at) {
      if (is_like(at->second)) return at->second.made;
    }
  }
  if (model_ == nullptr) return std::nullopt;
  return model_->find(entry, in_all);
}

PackCache::PackedResult PackCache::packed(const Node& node, const Call& call, kernels::Isa isa) {
  Entry entry{node.op, node.attributes, {}, nullptr};
  for (const Tensor* constant : call.inputs) {
    entry.constants.push_back(constant == nullptr ? Tensor() : *constant);
  }
  const void* const where = place_of(entry.constants);
  if (where == nullptr) return node.op->pack(call, isa);
  if (const auto known = find(entry, true)) return *known;
  const auto like = node.op->packs ? find(entry, false) : std::nullopt;
  if (like && *like != nullptr) entry.made = (*like)->another(call);
  if (entry.made == nullptr) {
    COMMENSAL_ASSIGN(entry.made, pack(node, call, isa));
  }
  const std::lock_guard lock(mutex_);
  return entries_.emplace(where, std::move(entry))->second.made;
}

void PackCache::drop_unused() {
  const std::lock_guard lock(mutex_);
  // Whoever uses one has a copy, and copies begin here, under the lock.
  std::erase_if(entries_, [](const auto& entry) { return entry.second.made.use_count() <= 1; });
}

std::size_t PackCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace commensal::graph
