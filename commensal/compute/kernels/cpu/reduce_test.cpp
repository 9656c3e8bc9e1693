// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <commensal/compute/tensor/float16.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Bfloat16;

// They become binary32 in each run, which must not hide them from the call's memo.
TEST(Reductions, OfHalvesArePlannedOnce) {
  std::vector<Bfloat16> x;
  for (const float one : random_tensor({3, 50}, 5).data<float>()) {
    x.push_back(tensor::to_bfloat16(one));
  }
  for (const std::string_view name : {"ReduceSum", "ReduceLogSumExp", "ArgMax"}) {
    const Case test{.name = name,
                    .attributes = {},
                    .inputs = {Tensor::of<Bfloat16>({3, 50}, x)},
                    .constants = {}};
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(fmt::format("{} {}", name, name_of(isa)));
      constexpr std::int64_t kAll = 1 << 20;
      std::atomic<std::int64_t> budget = kAll;
      CaseRunner runner(test);
      runner.compare_with([&](const Operator& op, const Call& call, auto outputs) {
        ThreadPool pool(1);
        tensor::Arena arena(1 << 20);
        Workspace ws{arena, pool, isa, nullptr};
        call.memo.keep(budget, 0);
        core::Result<void> done = op.fast()(call, outputs, ws);
        const std::int64_t left = budget;
        EXPECT_LT(left, kAll) << "a plan is kept";
        if (done) done = op.fast()(call, outputs, ws);
        EXPECT_EQ(budget, left) << "and found again";
        return done;
      });
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
