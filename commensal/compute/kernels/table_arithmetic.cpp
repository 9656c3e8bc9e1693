// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/codes/ops.hpp>
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {
namespace {

constexpr int kMany = limits::kNodeInputsMax;

}  // namespace

// name, since, until, inputs min and max, outputs max, kind, ref columns, cpu columns
std::vector<Row> arithmetic_rows() {
  return {
      {"Abs", 1, 0, 1, 1, 1, Kind::kElementwise, ref::abs(), {cpu::abs}},
      {"Add", 1, 0, 2, 2, 1, Kind::kElementwise, ref::add(), {cpu::add}},
      {"And", 1, 0, 2, 2, 1, Kind::kElementwise, ref::logical_and()},
      {"BitShift", 11, 0, 2, 2, 1, Kind::kElementwise, ref::bit_shift()},
      {"BitwiseAnd", 18, 0, 2, 2, 1, Kind::kElementwise, ref::bitwise_and()},
      {"BitwiseNot", 18, 0, 1, 1, 1, Kind::kElementwise, ref::bitwise_not()},
      {"BitwiseOr", 18, 0, 2, 2, 1, Kind::kElementwise, ref::bitwise_or()},
      {"BitwiseXor", 18, 0, 2, 2, 1, Kind::kElementwise, ref::bitwise_xor()},
      {"Cast", 1, 0, 1, 1, 1, Kind::kElementwise, ref::cast(), {cpu::cast}, {}, Strings::kOwn},
      {"CastLike", 15, 0, 2, 2, 1, Kind::kElementwise, ref::cast_like(), {}, {}, Strings::kOwn},
      {"Ceil", 1, 0, 1, 1, 1, Kind::kElementwise, ref::ceil()},
      {"Celu", 12, 0, 1, 1, 1, Kind::kElementwise, ref::celu()},
      {"Clip", 1, 10, 1, 1, 1, Kind::kElementwise, ref::clip(), {cpu::clip}},
      {"Clip", 11, 0, 1, 3, 1, Kind::kElementwise, ref::clip(), {cpu::clip}},
      {"Div", 1, 0, 2, 2, 1, Kind::kElementwise, ref::div(), {cpu::div}},
      {"Elu", 1, 0, 1, 1, 1, Kind::kElementwise, ref::elu()},
      {"Equal", 1, 0, 2, 2, 1, Kind::kElementwise, ref::equal()},
      {"Erf", 9, 0, 1, 1, 1, Kind::kElementwise, ref::erf(), {cpu::erf}},
      {"Exp", 1, 0, 1, 1, 1, Kind::kElementwise, ref::exp(), {cpu::exp}},
      {"Floor", 1, 0, 1, 1, 1, Kind::kElementwise, ref::floor()},
      {"Greater", 1, 0, 2, 2, 1, Kind::kElementwise, ref::greater()},
      {"GreaterOrEqual", 12, 0, 2, 2, 1, Kind::kElementwise, ref::greater_or_equal()},
      {"HardSigmoid", 1, 0, 1, 1, 1, Kind::kElementwise, ref::hard_sigmoid(), {cpu::hard_sigmoid}},
      {"HardSwish", 14, 0, 1, 1, 1, Kind::kElementwise, ref::hard_swish(), {cpu::hard_swish}},
      {"IsInf", 10, 0, 1, 1, 1, Kind::kElementwise, ref::is_inf()},
      {"IsNaN", 9, 0, 1, 1, 1, Kind::kElementwise, ref::is_nan()},
      {"LeakyRelu", 1, 0, 1, 1, 1, Kind::kElementwise, ref::leaky_relu(), {cpu::leaky_relu}},
      {"Less", 1, 0, 2, 2, 1, Kind::kElementwise, ref::less()},
      {"LessOrEqual", 12, 0, 2, 2, 1, Kind::kElementwise, ref::less_or_equal()},
      {"Log", 1, 0, 1, 1, 1, Kind::kElementwise, ref::log(), {cpu::log}},
      {"Max", 1, 0, 1, kMany, 1, Kind::kElementwise, ref::max(), {cpu::max}},
      {"Mean", 1, 0, 1, kMany, 1, Kind::kElementwise, ref::mean()},
      {"Min", 1, 0, 1, kMany, 1, Kind::kElementwise, ref::min(), {cpu::min}},
      {"Mod", 10, 0, 2, 2, 1, Kind::kElementwise, ref::mod()},
      {"Mul", 1, 0, 2, 2, 1, Kind::kElementwise, ref::mul(), {cpu::mul}},
      {"Neg", 1, 0, 1, 1, 1, Kind::kElementwise, ref::neg(), {cpu::neg}},
      {"Not", 1, 0, 1, 1, 1, Kind::kElementwise, ref::logical_not()},
      {"Or", 1, 0, 2, 2, 1, Kind::kElementwise, ref::logical_or()},
      {"PRelu", 1, 0, 2, 2, 1, Kind::kElementwise, ref::prelu()},
      {"Pow", 1, 0, 2, 2, 1, Kind::kElementwise, ref::pow(), {cpu::pow}},
      {"Reciprocal", 1, 0, 1, 1, 1, Kind::kElementwise, ref::reciprocal(), {cpu::reciprocal}},
      {"Relu", 1, 0, 1, 1, 1, Kind::kElementwise, ref::relu(), {cpu::relu}},
      {"Round", 11, 0, 1, 1, 1, Kind::kElementwise, ref::round()},
      {"Selu", 1, 0, 1, 1, 1, Kind::kElementwise, ref::selu()},
      {"Shrink", 9, 0, 1, 1, 1, Kind::kElementwise, ref::shrink()},
      {"Sigmoid", 1, 0, 1, 1, 1, Kind::kElementwise, ref::sigmoid(), {cpu::sigmoid}},
      {"Sign", 9, 0, 1, 1, 1, Kind::kElementwise, ref::sign()},
      {"Softplus", 1, 0, 1, 1, 1, Kind::kElementwise, ref::softplus(), {cpu::softplus}},
      {"Softsign", 1, 0, 1, 1, 1, Kind::kElementwise, ref::softsign()},
      {"Sqrt", 1, 0, 1, 1, 1, Kind::kElementwise, ref::sqrt(), {cpu::sqrt}},
      {"Sub", 1, 0, 2, 2, 1, Kind::kElementwise, ref::sub(), {cpu::sub}},
      {"Sum", 1, 0, 1, kMany, 1, Kind::kElementwise, ref::sum()},
      {"Tanh", 1, 0, 1, 1, 1, Kind::kElementwise, ref::tanh(), {cpu::tanh}},
      {"ThresholdedRelu", 10, 0, 1, 1, 1, Kind::kElementwise, ref::thresholded_relu()},
      {"Where", 9, 0, 3, 3, 1, Kind::kElementwise, ref::where()},
      {"Xor", 1, 0, 2, 2, 1, Kind::kElementwise, ref::logical_xor()},
  };
}

}  // namespace commensal::kernels
