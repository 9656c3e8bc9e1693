// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/cpu/chain.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>

namespace commensal::kernels::cpu {

namespace {

/// Elements that pass by together, and of a task.
constexpr std::int64_t kChainPiece = 512, kChainTask = 16384;

constexpr std::int64_t kFirstUnary = 0, kFirstBinary = 100, kSelectStep = 200;

constexpr std::size_t kChainWords = 2 + ChainStep::kOperandsMax;  // of a step's attribute

struct ChainRow {
  const Judge* judge;
  std::int64_t what;
};
constexpr std::int64_t step_what(Unary what) { return kFirstUnary + static_cast<int>(what); }
constexpr std::int64_t step_what(Binary what) { return kFirstBinary + static_cast<int>(what); }
const ChainRow kChainRows[] = {
    {&ref::kAbs, step_what(Unary::kAbs)},   {&ref::kAdd, step_what(Binary::kAdd)},
    {&ref::kDiv, step_what(Binary::kDiv)},  {&ref::kErf, step_what(Unary::kErf)},
    {&ref::kExp, step_what(Unary::kExp)},   {&ref::kMul, step_what(Binary::kMul)},
    {&ref::kNeg, step_what(Unary::kNeg)},   {&ref::kReciprocal, step_what(Unary::kReciprocal)},
    {&ref::kRelu, step_what(Unary::kRelu)}, {&ref::kSigmoid, step_what(Unary::kSigmoid)},
    {&ref::kSqrt, step_what(Unary::kSqrt)}, {&ref::kSub, step_what(Binary::kSub)},
    {&ref::kTanh, step_what(Unary::kTanh)},
};

struct ParsedChain {
  std::vector<ChainStep> steps;
  std::size_t numbers = 0;

  static core::Result<ParsedChain> of(const Call& call) {
    ParsedChain made;
    COMMENSAL_ASSIGN(const auto words, call.attributes->integers_view("steps"));
    COMMENSAL_ASSIGN(const std::int64_t numbers, call.attributes->integer("numbers", 0));
    made.numbers = static_cast<std::size_t>(numbers);
    for (std::size_t i = 0; i + kChainWords <= words.size(); i += kChainWords) {
      ChainStep& step = made.steps.emplace_back();
      step.what = words[i];
      step.to = words[i + 1];
      std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(i + 2), ChainStep::kOperandsMax,
                  step.operands);
    }
    return made;
  }
};

/// Where the values of a piece begin, and whether they run.
struct ChainValues {
  std::array<float*, kChainWordsMax> at{};
  std::array<int, kChainWordsMax> steps{};
};

void run_chain_step(const CpuKernels& kernels, SelectFn select, const ChainStep& step,
                    const ChainValues& values, std::int64_t count) {
  const float* operands[ChainStep::kOperandsMax] = {};
  int steps[ChainStep::kOperandsMax] = {};
  for (std::size_t k = 0; k < ChainStep::kOperandsMax; ++k) {
    if (step.operands[k] < 0) continue;
    const auto from = static_cast<std::size_t>(step.operands[k]);
    operands[k] = values.at[from];
    steps[k] = values.steps[from];
  }
  float* const to = values.at[static_cast<std::size_t>(step.to)];
  if (step.what == kSelectStep) return select(operands, steps, to, count);
  if (step.what >= kFirstBinary) {
    const auto fn = kernels.binary[static_cast<std::size_t>(step.what - kFirstBinary)];
    return fn(operands[0], steps[0], operands[1], steps[1], to, count);
  }
  kernels.unary[static_cast<std::size_t>(step.what - kFirstUnary)](operands[0], to, count, {});
}

}  // namespace

std::optional<std::int64_t> chain_step_of(const Operator& op) {
  const auto at = std::ranges::find(kChainRows, op.judge, &ChainRow::judge);
  return at == std::end(kChainRows) ? std::nullopt : std::optional(at->what);
}
bool is_chain_greater(const Operator& op) { return op.judge == &ref::kGreater; }
bool is_chain_where(const Operator& op) { return op.judge == &ref::kWhere; }
std::int64_t chain_select() { return kSelectStep; }

void add_chain_step(const ChainStep& step, std::vector<std::int64_t>& words) {
  words.push_back(step.what);
  words.push_back(step.to);
  words.insert(words.end(), std::begin(step.operands), std::end(step.operands));
}

std::int64_t chain_cost(const Call& call) {
  const auto words = call.attributes->integers_view("steps");
  const auto steps = words ? static_cast<std::int64_t>(words->size() / kChainWords) : 0;
  return ceil_div(steps, std::int64_t{2} * std::max(call.output_count, 1));  // two operations each
}

core::Result<std::vector<TensorType>> infer_chain(const Call& call) {
  return std::vector<TensorType>(static_cast<std::size_t>(call.output_count), call.in(0).type());
}

core::Result<void> chain(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto parsed, call.memo.of([&] { return ParsedChain::of(call); }));
  const CpuKernels& kernels = kernels_for(ws.isa);
  const SelectFn select = select_greater_for(ws.isa);
  const std::int64_t count = outputs[0].elements();
  ChainValues all;
  std::size_t values = 0;
  for (const Tensor* const input : call.inputs) {
    // Only read: a step writes outputs and numbers.
    all.at[values] = const_cast<float*>(input->data<float>().data());
    all.steps[values++] = input->elements() == count ? 1 : 0;
  }
  for (Tensor& output : outputs) {
    all.at[values] = output.mutable_data<float>().data();
    all.steps[values++] = 1;
  }
  const std::size_t numbers = parsed->numbers;
  core::check(values + numbers <= kChainWordsMax, "a chain has as many values as fit");
  const auto task = [&](std::int64_t i, float* scratch) {
    Pulse pulse(&ws.threads);
    const std::int64_t end = std::min(count, (i + 1) * kChainTask);
    for (std::int64_t from = i * kChainTask; from < end; from += kChainPiece) {
      ChainValues here = all;
      for (std::size_t v = 0; v < values; ++v) here.at[v] += from * here.steps[v];
      for (std::size_t n = 0; n < numbers; ++n) {
        here.at[values + n] = scratch + static_cast<std::int64_t>(n) * kChainPiece;
        here.steps[values + n] = 1;
      }
      const std::int64_t length = std::min(kChainPiece, end - from);
      for (const ChainStep& step : parsed->steps) {
        run_chain_step(kernels, select, step, here, length);
        pulse(length);
      }
    }
  };
  return run_with_scratch(ws, ceil_div(count, kChainTask),
                          static_cast<std::int64_t>(numbers) * kChainPiece, task);
}

const Operator& chain_operator() {
  const auto rows = operator_table();
  const auto found = std::ranges::find(rows, &chain, &Operator::cpu);
  core::check(found != rows.end(), "Chain is in the table");
  return *found;
}

}  // namespace commensal::kernels::cpu
