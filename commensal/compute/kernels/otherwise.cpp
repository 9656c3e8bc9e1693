// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/otherwise.hpp>

namespace commensal::kernels {
namespace {

bool share_memory(const Tensor* a, const Tensor& b) {
  if (a == nullptr || !a->defined() || !b.defined()) return false;
  const core::ByteView x = a->bytes(), y = b.bytes();
  return x.data() < y.data() + y.size() && y.data() < x.data() + x.size();
}

}  // namespace

core::Result<void> run_otherwise(const Operator& op, core::Result<void> ended, const Call& call,
                                 std::span<Tensor> outputs, Workspace& ws) {
  if (ended || ended.error().code != core::ErrorCode::kResourceExhausted) return ended;
  const KernelFn other = op.judge->best() == op.fast() ? op.judge->run : op.judge->best();
  if (op.fast() == nullptr || other == nullptr) return ended;
  for (const Tensor& output : outputs) {  // of what is overwritten nobody knows how much is
    const auto is_in = [&](const Tensor* input) { return share_memory(input, output); };
    if (std::ranges::any_of(call.inputs, is_in)) return ended;
  }
  return other(call, outputs, ws);
}

}  // namespace commensal::kernels
