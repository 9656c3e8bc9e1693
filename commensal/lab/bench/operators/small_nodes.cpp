// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/operators/small_nodes.hpp>
#include <commensal/lab/bench/operators/subject_files.hpp>

namespace commensal::lab::bench::operators {

using core::Result;

namespace {

constexpr Case kTable[] = {
    {"Abs|Ceil|Floor|Neg|Round|Sign|Reciprocal|Relu|LeakyRelu|Elu|Celu|Selu|Softsign|Softplus|"
     "ThresholdedRelu|HardSigmoid|HardSwish|Sigmoid|Tanh|Exp|Erf|Cos|Sin|Tan|Atan|Asin|Acos|Sinh|"
     "Cosh|Asinh|Atanh|Acosh|Sqrt|Log|Shrink",
     "f32[8]"},
    {"Mish", "f32[8]", "", 1, 18},
    {"Gelu", "f32[8]", "", 1, 20},
    {"Swish", "f32[8]", "", 1, 24},
    {"Not", "bool[8]"},
    {"Add|Sub|Mul|Div|Max|Min|PRelu|Pow|Sum|Mean", "f32[8] f32[8]"},
    {"Add", "i64[4]<9 i64{1,2,3,4}"},
    {"Add", "f32[8] f32{2}"},
    {"Mod", "f32[8] f32[8]+", "fmod=1"},
    {"And|Or|Xor|Equal", "bool[8] bool[8]"},
    {"BitwiseAnd|BitwiseOr|BitwiseXor", "i32[8]<90 i32[8]<90", "", 1, 18},
    {"BitwiseNot", "i32[8]<90", "", 1, 18},
    {"BitShift", "u32[8]<90 u32[8]<9", "direction:LEFT"},
    {"Where", "bool[8] bool[8] bool[8]"},
    {"Clip", "f32[8] f32{0} f32{0.5}"},

    {"ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceL1|ReduceL2|ReduceSumSquare|ReduceProd|"
     "ReduceLogSumExp|ReduceLogSum",
     "f32[1,8] i64{1}", "", 1, 18},
    {"ArgMax|ArgMin", "i64[1,8]<9", "axis=1"},
    {"CumSum", "f32[8] i64{0}"},
    {"TopK", "f32[1,8] i64{4}", "", 2},
    {"Softmax|LogSoftmax|Hardmax", "f32[1,8]"},
    {"Softmax", "f16[1,8]"},
    {"MaxPool|AveragePool|LpPool", "f32[1,1,4,4]", "kernel_shape=[3,3] pads=[1,1,1,1]"},
    {"GlobalAveragePool|GlobalMaxPool|GlobalLpPool", "f32[1,1,4,4]"},

    {"Conv|ConvTranspose", "f32[1,1,4,4] *f32[1,1,3,3]", "pads=[1,1,1,1]"},
    {"DeformConv", "f32[1,1,4,4] *f32[1,1,3,3] f32[1,18,4,4]", "pads=[1,1,1,1]", 1, 22},
    {"Gemm|MatMul", "f32[4,4] *f32[4,4]"},
    {"MatMul", "f16[4,4] *f16[4,4]"},
    {"Einsum", "f32[2,4] *f32[4,4]", "equation:ij,jk->ik"},
    {"BatchNormalization", "f32[1,2,2,2] *f32[2] *f32[2] *f32[2] *f32[2]+"},
    {"InstanceNormalization", "f32[1,2,2,2] *f32[2] *f32[2]"},
    {"LayerNormalization", "f32[1,8] *f32[8] *f32[8]"},
    {"GroupNormalization", "f32[1,4,2,2] *f32[4] *f32[4]", "num_groups=2", 1, 21},
    {"RMSNormalization", "f32[1,8] *f32[8]", "", 1, 23},
    {"LpNormalization", "f32[1,8]", "axis=1"},
    {"MeanVarianceNormalization", "f32[1,2,2,2]"},
    {"LRN", "f32[1,4,2,2]", "size=3"},

    {"Concat", "f32[8] f32[1]", "axis=0"},
    {"Split", "f32[8]", "axis=0", 1},
    {"Slice", "f32[8] i64{7} i64{-9} i64{0} i64{-1}"},
    {"Gather", "f32[8] i64{1,0,2,3,4,5,6,7}"},
    {"GatherElements", "f32[8] i64{1,0,2,3,4,5,6,7}"},
    {"GatherND", "f32[4] i64[4,1]<4"},
    {"ScatterElements", "f32[8] i64{1,0} f32[2]"},
    {"ScatterND", "f32[4] i64[2,1]<4 f32[2]"},
    {"Transpose", "f32[4,4]"},
    {"Expand", "f32[4] i64{4}"},
    {"Tile", "f32[4] i64{1}"},
    {"Pad", "f32[8] i64{1,-1}"},
    {"DepthToSpace|SpaceToDepth", "f32[1,1,4,4]", "blocksize=1"},
    {"Reshape", "f32[4,2] i64{2,4}"},
    {"Flatten", "f32[2,4]"},
    {"Squeeze", "f32[8]"},
    {"Trilu", "f32[3,3]"},
    {"ReverseSequence", "f32[2,2] i64{1,2}", "time_axis=0 batch_axis=1"},
    {"Compress", "f32[4] bool{1,1,1,1}", "axis=0"},
    {"Unique", "i64[8]<90", "sorted=1", 1},
    {"CenterCropPad", "f32[4] i64{4}", "axes=[0]", 1, 18},

    {"Resize", "f32[1,1,4,4] - f32{1,1,1,1}", "mode:linear"},
    {"GridSample", "f32[1,1,4,4] f32[1,4,4,2]"},
    {"MaxUnpool", "f32[1,1,2,2] i64[1,1,2,2]<4", "kernel_shape=[1,1]"},
    {"DFT", "f32[1,8,2]", "axis=1"},
    {"RoiAlign", "f32[1,1,4,4] f32[1,4]#4 i64[1]<1",
     "output_height=4 output_width=4 sampling_ratio=1"},
    {"MaxRoiPool", "f32[1,1,4,4] f32[1,5]#4", "pooled_shape=[4,4]"},

    {"QLinearConv", "u8[1,1,4,4]<99 f32{0.02} u8{5} *i8[1,1,3,3]<9 f32{0.01} i8{0} f32{0.03} u8{7}",
     "pads=[1,1,1,1]"},
    {"QLinearMatMul", "u8[4,4]<99 f32{0.02} u8{5} *u8[4,4]<9 f32{0.01} u8{1} f32{0.9} u8{7}"},
    {"RotaryEmbedding", "f32[1,1,2,4] f32[4,2] f32[4,2] i64[1,2]<4", "", 1, 23},
    {"TensorScatter", "f32[1,1,4,2] f32[1,1,1,2] i64[1]<3", "", 1, 24},
    {"Attention", "f32[1,1,2,4] f32[1,1,2,4] f32[1,1,2,4]", "", 1, 23},
};

constexpr NotMeasured kNotChained[] = {
    {"IsNaN|IsInf|Greater|GreaterOrEqual|Less|LessOrEqual|QuantizeLinear|DequantizeLinear|"
     "DynamicQuantizeLinear|MatMulInteger|ConvInteger|Range|ConstantOfShape|NonMaxSuppression|"
     "NonZero",
     "its output is of a type, or a rank, that it does not take"},
    {"AffineGrid|Col2Im|Det|GRU|LSTM|OneHot|RNN|STFT|Unsqueeze",
     "its output has another rank than its input"},
    {"Cast|CastLike|Identity", "to the same type it is left out"},
    {"EyeLike|Shape|Size", "folded"},
};

constexpr int kChain = 65;
constexpr int kBlocks = 5, kRuns = 100;

Result<Runner> loaded(const Options& options, const Case& row, std::string_view op, int copies,
                      const core::Path& folder) {
  COMMENSAL_ASSIGN(const Subject subject, subject_of(row, op, copies));
  COMMENSAL_ASSIGN(const SubjectFiles files, write_subject(subject, folder));
  COMMENSAL_ASSIGN(Runner runner, options.ours());
  COMMENSAL_TRY(runner.feed(files.inputs));
  COMMENSAL_TRY(runner.load(files.model, 1));
  return runner;
}

Result<double> block(Runner& runner, int turn) {
  runner.keep_to_one_cpu(turn);
  COMMENSAL_ASSIGN(const auto timings, runner.run(kRuns + 1));
  std::vector<double> seconds;
  for (std::size_t i = 1; i < timings.size(); ++i) seconds.push_back(timings[i].seconds);
  return median(std::move(seconds));
}

/// Blocks of one node and of the chain take turns.
Result<double> node_ns(Runner& single, Runner& chain) {
  std::vector<double> more_s;
  for (int i = 0; i < kBlocks; ++i) {
    COMMENSAL_ASSIGN(const double single_s, block(single, i));
    COMMENSAL_ASSIGN(const double chain_s, block(chain, i));
    more_s.push_back(chain_s - single_s);
  }
  return 1e9 * median(std::move(more_s)) / (kChain - 1);
}

}  // namespace

std::span<const Case> small_nodes() { return kTable; }
std::span<const NotMeasured> not_chained() { return kNotChained; }

Result<std::vector<NodeTime>> measure_nodes(const Options& options, const core::Path& folder) {
  std::vector<NodeTime> nodes;
  for (const Case& row : kTable) {
    for (const std::string_view op : names_in(row.ops)) {
      if (!options.ops.empty() && std::ranges::find(options.ops, op) == options.ops.end()) continue;
      COMMENSAL_ASSIGN(Runner single, loaded(options, row, op, 1, folder));
      COMMENSAL_ASSIGN(Runner chain, loaded(options, row, op, kChain, folder));
      COMMENSAL_ASSIGN(const double ns, node_ns(single, chain));
      nodes.push_back({op, row.inputs, ns});
    }
  }
  std::ranges::stable_sort(nodes, std::ranges::greater(), &NodeTime::ns);
  return nodes;
}

std::vector<Row> node_row(const std::vector<NodeTime>& nodes) {
  if (nodes.empty()) return {};
  constexpr double kLimitNs = 150;
  const auto above =
      std::ranges::count_if(nodes, [](const NodeTime& node) { return node.ns > kLimitNs; });
  const double ns = nodes[0].ns;
  return {{"node_ns", ns, ns, ns, kLimitNs,
           fmt::format("one thread, the dearest of {} nodes of a few elements: {} {}; {} above",
                       nodes.size(), nodes[0].op, nodes[0].inputs, above),
           true}};
}

std::string node_text(const std::vector<NodeTime>& nodes) {
  constexpr std::size_t kShown = 20;
  if (nodes.empty()) return "";
  std::string text = fmt::format("\n{:<24} {:>8}  {}\n", "a node more", "ns", "inputs");
  for (const NodeTime& node : std::span(nodes).first(std::min(nodes.size(), kShown)))
    text += fmt::format("{:<24} {:>8.0f}  {}\n", node.op, node.ns, node.inputs);
  return text;
}

std::vector<Fields> node_fields(const std::vector<NodeTime>& nodes) {
  std::vector<Fields> list;
  for (const NodeTime& node : nodes) {
    list.push_back({{"operator", std::string(node.op)},
                    {"inputs", std::string(node.inputs)},
                    {"ns", node.ns}});
  }
  return list;
}

}  // namespace commensal::lab::bench::operators
