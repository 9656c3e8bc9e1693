// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/grad/rules.hpp>
#include <limits>

/// The column `gradient` of the table of operators, keyed by the operator's name for all versions
/// (a rule looks at the opset). It lies here because rules make graphs, which kernels may not
/// see. An operator that is not here has no gradient; a test holds the names to the table.
namespace commensal::grad {

struct GradientRow {
  std::string_view name;
  Rule rule;
  std::size_t outputs = 1;  // how many of them it has gradients of; those of others are refused
};

inline constexpr std::size_t kMany = std::numeric_limits<std::size_t>::max();

// clang-format off
inline constexpr GradientRow kGradients[] = {
    {"Abs", rules::abs}, {"Acos", rules::acos}, {"Acosh", rules::acosh}, {"Add", rules::add},
    {"Asin", rules::asin}, {"Asinh", rules::asinh}, {"Atan", rules::atan},
    {"Atanh", rules::atanh}, {"Attention", rules::attention, 4},
    {"AveragePool", rules::average_pool}, {"BatchNormalization", rules::batch_normalization},
    {"Cast", rules::cast}, {"CastLike", rules::cast}, {"Ceil", rules::flat},
    {"Celu", rules::celu}, {"Clip", rules::clip}, {"Concat", rules::concat},
    {"Conv", rules::conv}, {"ConvTranspose", rules::conv_transpose}, {"Cos", rules::cos},
    {"Cosh", rules::cosh}, {"CumSum", rules::cumsum}, {"DepthToSpace", rules::depth_to_space},
    {"Div", rules::div}, {"Dropout", rules::dropout}, {"Einsum", rules::einsum},
    {"Elu", rules::elu}, {"Erf", rules::erf}, {"Exp", rules::exp}, {"Expand", rules::expand},
    {"Flatten", rules::reshape}, {"Floor", rules::flat}, {"GRU", rules::gru, 2},
    {"Gather", rules::gather}, {"GatherElements", rules::gather_elements},
    {"GatherND", rules::gather_nd}, {"Gelu", rules::gelu}, {"Gemm", rules::gemm},
    {"GlobalAveragePool", rules::global_average_pool}, {"GlobalLpPool", rules::global_lp_pool},
    {"GlobalMaxPool", rules::global_max_pool}, {"GroupNormalization", rules::group_normalization},
    {"HardSigmoid", rules::hard_sigmoid}, {"HardSwish", rules::hard_swish},
    {"Hardmax", rules::flat}, {"Identity", rules::identity},
    {"InstanceNormalization", rules::instance_normalization}, {"LRN", rules::lrn},
    {"LSTM", rules::lstm, 3}, {"LayerNormalization", rules::layer_normalization, 3},
    {"LeakyRelu", rules::leaky_relu}, {"Log", rules::log}, {"LogSoftmax", rules::log_softmax},
    {"LpNormalization", rules::lp_normalization}, {"LpPool", rules::lp_pool},
    {"MatMul", rules::matmul}, {"Max", rules::extreme}, {"MaxPool", rules::max_pool},
    {"Mean", rules::mean}, {"MeanVarianceNormalization", rules::mean_variance_normalization},
    {"Min", rules::extreme}, {"Mish", rules::mish}, {"Mod", rules::mod}, {"Mul", rules::mul},
    {"Neg", rules::neg}, {"NegativeLogLikelihoodLoss", rules::negative_log_likelihood},
    {"PRelu", rules::prelu}, {"Pad", rules::pad}, {"Pow", rules::pow},
    {"RMSNormalization", rules::rms_normalization}, {"RNN", rules::rnn, 2},
    {"Reciprocal", rules::reciprocal}, {"ReduceL1", rules::reduce_l1},
    {"ReduceL2", rules::reduce_l2}, {"ReduceLogSum", rules::reduce_log_sum},
    {"ReduceLogSumExp", rules::reduce_log_sum_exp}, {"ReduceMax", rules::reduce_extreme},
    {"ReduceMean", rules::reduce_mean}, {"ReduceMin", rules::reduce_extreme},
    {"ReduceProd", rules::reduce_prod}, {"ReduceSum", rules::reduce_sum},
    {"ReduceSumSquare", rules::reduce_sum_square}, {"Relu", rules::relu},
    {"Reshape", rules::reshape}, {"Resize", rules::resize},
    {"ReverseSequence", rules::reverse_sequence}, {"RotaryEmbedding", rules::rotary_embedding},
    {"Round", rules::flat}, {"Scatter", rules::scatter_elements},
    {"ScatterElements", rules::scatter_elements}, {"ScatterND", rules::scatter_nd},
    {"Selu", rules::selu}, {"Shrink", rules::shrink}, {"Sigmoid", rules::sigmoid},
    {"Sign", rules::flat}, {"Sin", rules::sin}, {"Sinh", rules::sinh}, {"Slice", rules::slice},
    {"Softmax", rules::softmax}, {"SoftmaxCrossEntropyLoss", rules::cross_entropy, 2},
    {"Softplus", rules::softplus}, {"Softsign", rules::softsign},
    {"SpaceToDepth", rules::space_to_depth}, {"Split", rules::split, kMany},
    {"Sqrt", rules::sqrt}, {"Squeeze", rules::reshape}, {"Sub", rules::sub}, {"Sum", rules::sum},
    {"Swish", rules::swish}, {"Tan", rules::tan}, {"Tanh", rules::tanh},
    {"ThresholdedRelu", rules::thresholded_relu}, {"Tile", rules::tile}, {"TopK", rules::top_k},
    {"Transpose", rules::transpose}, {"Trilu", rules::trilu}, {"Unsqueeze", rules::reshape},
    {"Upsample", rules::resize}, {"Where", rules::where},
};
// clang-format on

static_assert(std::ranges::is_sorted(kGradients, {}, &GradientRow::name));

}  // namespace commensal::grad
