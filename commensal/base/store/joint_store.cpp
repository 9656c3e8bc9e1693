// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/base/store/bounds.hpp>
#include <commensal/base/store/joint_store.hpp>

namespace commensal::store {

using core::Bytes;
using core::ByteView;
using core::Result;

Result<void> JointStore::write(const Batch& batch) {
  if (broken_) return tl::unexpected(*broken_);
  auto written = below_.apply(batch);
  if (!written) broken_ = written.error();
  return written;
}

Result<void> JointStore::release() {
  core::check(holds_ > 0, "what is released was held");
  if (--holds_ > 0) return {};
  Batch all;
  for (auto& [name, space] : held_) {
    for (auto& [key, value] : space) all.push_back({name, key, std::move(value)});
  }
  held_.clear();
  return all.empty() ? Result<void>{} : write(all);
}

Result<void> JointStore::together(const std::function<Result<void>()>& change) {
  hold();
  auto done = change();
  auto released = release();
  return done ? released : done;
}

Result<void> JointStore::apply(const Batch& batch) {
  if (holds_ == 0) return write(batch);
  if (broken_) return tl::unexpected(*broken_);
  COMMENSAL_TRY(check_batch(batch));
  for (const Write& one : batch) held_[one.space].insert_or_assign(one.key, one.value);
  return {};
}

Result<std::optional<Bytes>> JointStore::get(std::string_view space, ByteView key) {
  if (const auto held = held_.find(space); held != held_.end()) {
    const auto found = held->second.find(Bytes(key.begin(), key.end()));
    if (found != held->second.end()) return found->second;
  }
  return below_.get(space, key);
}

Result<void> JointStore::scan(std::string_view space, ByteView prefix, const Visitor& visit) {
  const auto held = held_.find(space);
  if (held == held_.end()) return below_.scan(space, prefix, visit);
  auto next = held->second.lower_bound(Bytes(prefix.begin(), prefix.end()));
  bool goes_on = true;
  // Held ones that come before `end`, or all.
  const auto visit_held = [&](const Bytes* end) {
    for (; goes_on && next != held->second.end() && starts_with(next->first, prefix); ++next) {
      if (end != nullptr && !(next->first < *end)) return;
      if (next->second) goes_on = visit(next->first, *next->second);
    }
  };
  COMMENSAL_TRY(below_.scan(space, prefix, [&](ByteView key, ByteView value) {
    const Bytes at(key.begin(), key.end());
    visit_held(&at);
    if (goes_on && !held->second.contains(at)) goes_on = visit(key, value);
    return goes_on;
  }));
  visit_held(nullptr);
  return {};
}

}  // namespace commensal::store
