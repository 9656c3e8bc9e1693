// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;

Tensor classes_for(std::int64_t rows, std::int64_t classes, std::int64_t ignored_each) {
  std::vector<std::int64_t> made;
  for (std::int64_t i = 0; i < rows; ++i)
    made.push_back(ignored_each > 0 && i % ignored_each == 0 ? -1 : i * 7 % classes);
  return Tensor::of<std::int64_t>({rows}, made);
}

TEST(EqualityLosses, SoftmaxCrossEntropyOfRows) {
  constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {{1, 1}, {3, 5}, {33, 17}, {100, 256}};
  for (const auto& [rows, classes] : kSizes) {
    for (const char* reduction : {"none", "sum", "mean"}) {
      for (const Values values : {Values::kPlain, Values::kTiny, Values::kSpecial}) {
        for (const std::int64_t ignored_each : {0, 3}) {
          SCOPED_TRACE(fmt::format("{}x{} {} {}", rows, classes, reduction, ignored_each));
          Case test{
              .name = "SoftmaxCrossEntropyLoss", .attributes = {}, .inputs = {}, .constants = {}};
          test.attributes.set("reduction", std::string(reduction));
          if (ignored_each > 0) test.attributes.set("ignore_index", std::int64_t{-1});
          test.inputs = {random_tensor({rows, classes}, 1, values),
                         classes_for(rows, classes, ignored_each)};
          expect_equal_to_ref(test);
          test.outputs = 2;
          expect_equal_to_ref(test);
        }
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
