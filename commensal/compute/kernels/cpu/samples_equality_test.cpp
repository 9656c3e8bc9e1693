// SPDX-License-Identifier: Apache-2.0
// Every row that has a fast kernel, in every version that the samples call, against ref/.
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <numeric>
#include <set>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using namespace kernels::testing;

TEST(EqualityOfSamples, EveryFastRowEqualsRef) {
  std::set<const Operator*> seen;
  for (const Sample& plain : all_samples()) {
    const Operator& op = SampleCall(plain).op();
    if (op.fast() == nullptr) continue;
    for (const Sample& sample : {plain, with_specials(plain)}) {
      Case test{sample.name, sample.opset, sample.attributes, sample.inputs, {}, sample.outputs};
      test.serves = false;  // samples are of types, specials and sizes that kernels leave too
      test.constants.resize(sample.inputs.size());
      std::iota(test.constants.begin(), test.constants.end(), 0);
      std::erase_if(test.constants,
                    [&](int i) { return !sample.inputs[static_cast<std::size_t>(i)].defined(); });
      SCOPED_TRACE(fmt::format("opset {}", sample.opset));
      expect_equal_to_ref(test);
      if (HasFatalFailure()) return;
    }
    seen.insert(&op);
  }
  for (const Operator& row : model_operators()) {
    EXPECT_TRUE(row.fast() == nullptr || seen.contains(&row)) << row.name << " " << row.since;
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
