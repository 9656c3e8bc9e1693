// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels against ref/, bit for bit: on the emulation in every test run (label equality),
// and on a card (label gpu), where COMMENSAL_CUDA_PLUGIN names the plug-in.
#include <algorithm>
#include <commensal/compute/kernels/cpu/testing/conv_cases.hpp>
#include <commensal/compute/kernels/cpu/testing/elementwise_cases.hpp>
#include <commensal/compute/kernels/cpu/testing/gemm_cases.hpp>
#include <commensal/compute/kernels/cuda/ops.hpp>
#include <cstdlib>
#include <optional>
#include <set>

namespace commensal::kernels::cuda {
namespace {

using namespace cpu::testing;
using tensor::Shape;

enum class Where { kEmulated, kCard };

class Cuda : public ::testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (GetParam() == Where::kEmulated) return;
    const char* const plugin = std::getenv("COMMENSAL_CUDA_PLUGIN");
    if (plugin == nullptr) GTEST_SKIP() << "COMMENSAL_CUDA_PLUGIN names no plug-in";
    auto card = Device::card(plugin);
    if (!card) GTEST_SKIP() << card.error().message;
    device_.emplace(*std::move(card));
  }

  /// Every case on the emulation runs its threads in another order.
  CheckCase check() {
    return [this](const Case& test) {
      if (GetParam() == Where::kEmulated) device_.emplace(Device::emulated(++seed_));
      CaseRunner(test).compare_with(
          [&](const Operator& op, const Call& call, std::span<Tensor> outputs) {
            const DeviceFn kernel = kernel_for(op, call);
            EXPECT_NE(kernel, nullptr) << op.name;
            if (kernel == nullptr) return core::Result<void>();
            return kernel(call, outputs, *device_);
          });
    };
  }

 private:
  std::optional<Device> device_;
  std::uint64_t seed_ = 0;
};

std::string name_of_where(const ::testing::TestParamInfo<Where>& info) {
  return info.param == Where::kEmulated ? "emulated" : "card";
}
INSTANTIATE_TEST_SUITE_P(EqualityEmulated, Cuda, testing::Values(Where::kEmulated), name_of_where);
INSTANTIATE_TEST_SUITE_P(Gpu, Cuda, testing::Values(Where::kCard), name_of_where);

TEST_P(Cuda, GemmInAllForms) { check_gemm_forms(check()); }
TEST_P(Cuda, GemmOfEverySize) { check_gemm_tails(check()); }
TEST_P(Cuda, GemmOfFewColumns) { check_narrow_gemms(check()); }
TEST_P(Cuda, GemmOfSignedZeros) { check_gemm_zeros(check()); }
// Beyond the blocks of a grid, in which the emulation is mean: blocks take several tiles.
TEST_P(Cuda, GemmOfManyRows) {
  check_gemm({600, 70, 20, false, false, 0.5f, 1, {70}, true}, Values::kPlain, check());
}
TEST_P(Cuda, MatMul) { check_matmuls(check()); }

TEST_P(Cuda, ConvDirect) { check_convs(direct_convs(), check()); }
TEST_P(Cuda, ConvDepthwise) { check_convs(depthwise_convs(), check()); }
TEST_P(Cuda, ConvByTheWinogradClause) { check_convs(winograd_convs(), check()); }
TEST_P(Cuda, ConvBatchesOfOneToEight) { check_batched_convs(check()); }
TEST_P(Cuda, ConvRandomShapes) { check_random_convs(60, check()); }

TEST_P(Cuda, Softmax) { check_softmaxes(check()); }

TEST_P(Cuda, LayerNormalization) {
  for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
    for (const std::int64_t n : {1, 2, 31, 32, 33, 64, 100, 1000}) {
      for (const bool has_bias : {false, true}) {
        Case test{.name = "LayerNormalization",
                  .opset = 17,
                  .attributes = {},
                  .inputs = {},
                  .constants = {}};
        test.inputs = {random_tensor({3, 2, n}, 1, values), random_tensor({2, n}, 2, values)};
        if (has_bias) test.inputs.push_back(random_tensor({2, n}, 3, values));
        test.attributes.set("axis", std::int64_t{1});
        test.outputs = has_bias ? 3 : 1;
        check()(test);
      }
    }
  }
}

TEST_P(Cuda, InstanceNormalization) {
  for (const Shape& x : {Shape{2, 3, 7}, Shape{1, 5, 9, 11}, Shape{4, 1, 64}, Shape{0, 2, 3}}) {
    const Shape c = {x[1]};
    for (const Values values : {Values::kPlain, Values::kSpecial}) {
      check()({.name = "InstanceNormalization",
               .attributes = {},
               .inputs = {random_tensor(x, 1, values), random_tensor(c, 2, values),
                          random_tensor(c, 3, values)},
               .constants = {}});
    }
  }
}

TEST_P(Cuda, FunctionsOfOneElement) {
  for (const std::string_view name :
       {"Acos", "Acosh", "Asin",    "Asinh",     "Atan", "Atanh", "Cos",
        "Cosh", "Erf",   "Exp",     "LeakyRelu", "Log",  "Relu",  "Sin",
        "Sinh", "Sqrt",  "Sigmoid", "Softplus",  "Tan",  "Tanh"}) {
    SCOPED_TRACE(name);
    check_function(name, check());
  }
}

TEST_P(Cuda, FunctionsOfTwoElements) {
  for (const std::string_view name : {"Add", "Div", "Max", "Min", "Mul", "Pow", "Sub"}) {
    SCOPED_TRACE(name);
    check_broadcasts(name, check());
    check()({.name = name,
             .attributes = {},
             .inputs = {wide_values(20000), wide_values(20000)},
             .constants = {}});
  }
}

/// A valid call of the operator `name`, whose inputs are of another type than the kernels take.
TEST(CudaOps, LeaveOtherTypesToOthers) {
  const std::int32_t ones[] = {1, 1};
  const Tensor integers = Tensor::of<std::int32_t>({2}, ones);
  const Tensor* const inputs[] = {&integers, &integers};
  const Attributes none;
  Call call;
  call.opset = 13;
  call.attributes = &none;
  call.inputs = inputs;
  EXPECT_EQ(kernel_for(**find_operator("", "Add", 13), call), nullptr);
}

TEST(CudaOps, AreThereForWhatTheTableNames) {
  const float ones[] = {1, 1};
  const Tensor floats = Tensor::of<float>({2}, ones);
  const Tensor* const inputs[] = {&floats, &floats};
  Call call;
  call.inputs = inputs;
  std::set<kernels::Cuda> named;
  for (const Operator& op : operator_table()) {
    EXPECT_EQ(kernel_for(op, call) != nullptr, op.cuda != kernels::Cuda::kNone) << op.name;
    named.insert(op.cuda);
  }
  for (int i = 0; i <= static_cast<int>(kernels::Cuda::kTanh); ++i) {
    EXPECT_TRUE(named.contains(static_cast<kernels::Cuda>(i))) << i << " is in no row";
  }
}

TEST(CudaCard, IsRefusedWhereThereIsNone) {
  const auto card = Device::card("/nowhere/libcommensal_cuda.so");
  ASSERT_FALSE(card.has_value());
  EXPECT_EQ(card.error().code, core::ErrorCode::kUnavailable);
  EXPECT_NE(card.error().message.find(".so"), std::string::npos) << card.error().message;
}

}  // namespace
}  // namespace commensal::kernels::cuda
