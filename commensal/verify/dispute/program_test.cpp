// SPDX-License-Identifier: Apache-2.0
// The arbiter's programs against the judge's kernels: types and elements are the same, on samples
// of every row and on random calls.
#include <gtest/gtest.h>

#include <array>
#include <commensal/base/core/file.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/kernels/testing/random_rare.hpp>
#include <commensal/compute/tensor/element.hpp>
#include <commensal/verify/arbiter/evidence.hpp>
#include <commensal/verify/arbiter/program.hpp>
#include <commensal/verify/dispute/describe.hpp>
#include <commensal/verify/dispute/testing/kept_lines.hpp>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

namespace commensal::dispute {
namespace {

using arbiter::NodeCall;
using arbiter::Program;
using kernels::testing::Blend;
using kernels::testing::case_count;
using kernels::testing::Draw;
using kernels::testing::kRareRecipes;
using kernels::testing::kRecipes;
using kernels::testing::random_blend;
using kernels::testing::random_of;
using kernels::testing::random_shape;
using kernels::testing::Sample;
using tensor::Tensor;

/// A sample as the kernels are called; its pointers stay valid as long as this lives.
struct Running {
  explicit Running(Sample given) : sample(std::move(given)) {
    for (const Tensor& input : sample.inputs)
      pointers.push_back(input.defined() ? &input : nullptr);
    call.opset = sample.opset;
    call.attributes = &sample.attributes;
    call.inputs = pointers;
    call.output_count = sample.outputs;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// False where the call is refused, or an output's shape depends on data.
  bool run() {
    const auto found = kernels::find_operator("", sample.name, sample.opset);
    if (!found || (*found)->judge->infer == nullptr) return false;
    op = *found;
    auto types = op->judge->infer(call);
    if (!types) return false;
    call.outputs = *std::move(types);
    for (const auto& type : call.outputs) {
      if (type.dtype == tensor::DType::kUndefined || type.dtype == tensor::DType::kString) {
        return false;
      }
      outputs.push_back(*Tensor::allocate(arena, type));
    }
    kernels::Workspace workspace{arena, one};
    return op->judge->run(call, outputs, workspace).has_value();
  }
  NodeCall describe() const {
    NodeCall made;
    made.node = node_text(*op, sample.opset, sample.attributes);
    made.node.outputs.resize(outputs.size(), 1);
    made.tensors = *arbiter::check_attributes(made.node, attribute_lists(sample.attributes));
    for (const Tensor* input : pointers) {
      made.inputs.push_back(input == nullptr ? arbiter::Shaped{} : shaped_of(input->type()));
      made.lists.push_back(input == nullptr ? std::nullopt : list_of(*input));
    }
    for (const Tensor& output : outputs) made.outputs.push_back(shaped_of(output.type()));
    return made;
  }

  Sample sample;
  const kernels::Operator* op = nullptr;
  std::vector<const Tensor*> pointers;
  kernels::Call call;
  tensor::Arena arena{std::int64_t{1} << 32};
  kernels::ThreadPool one{1};
  std::vector<Tensor> outputs;
};

bool has_strings(const std::vector<Tensor>& tensors) {
  return std::ranges::any_of(tensors,
                             [](const Tensor& t) { return t.dtype() == tensor::DType::kString; });
}

struct Seen {
  std::set<std::string> operators;
  std::int64_t elements = 0, steps = 0;
};

// Each output's first, last and some random elements.
void check_outputs(const NodeCall& call, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& outputs, Draw& draw, Seen& seen) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    NodeCall until = call;
    until.outputs.resize(o + 1);
    const auto type = arbiter::output_type(until, o);
    if (!type) continue;  // cannot be disputed
    if (*type) {
      ASSERT_EQ((*type)->text(), until.outputs[o].text()) << call.node.name;
    }
    const std::int64_t count = outputs[o].elements();
    for (int n = 0; n < 6 && count > 0; ++n) {
      const std::int64_t e = n == 0 ? 0 : n == 1 ? count - 1 : draw.number(0, count - 1);
      const auto program = Program::of(until, o, static_cast<std::uint64_t>(e));
      ASSERT_TRUE(program) << call.node.name << ": " << program.error().message;
      const auto values = program->evaluate(fetch_from(inputs, outputs));
      ASSERT_EQ(values.size(), program->steps());
      ASSERT_EQ(values.back(), tensor::element_bits(outputs[o], e))
          << call.node.name << " opset " << call.node.opset << " " << until.outputs[o].text()
          << " element " << e;
      // Any step is found alone, and gives the same.
      const auto k = static_cast<std::uint64_t>(
          draw.number(0, static_cast<std::int64_t>(program->steps()) - 1));
      ASSERT_EQ(evaluate_step(program->at(k), values, fetch_from(inputs, outputs)), values[k])
          << call.node.name << " step " << k << " of " << program->steps();
      seen.operators.insert(call.node.name);
      ++seen.elements;
      seen.steps += static_cast<std::int64_t>(values.size());
    }
  }
}

// What networks ask for most often of what does not follow from types alone.
constexpr const char* kMustHave[] = {"Pad",
                                     "Tile",
                                     "Gather",
                                     "GatherElements",
                                     "ArgMax",
                                     "ArgMin",
                                     "TopK",
                                     "LRN",
                                     "CumSum",
                                     "Sin",
                                     "Cos",
                                     "OneHot",
                                     "Mod",
                                     "CastLike",
                                     "Resize",
                                     "LSTM",
                                     "GRU",
                                     "RNN",
                                     "QuantizeLinear",
                                     "DequantizeLinear",
                                     "DynamicQuantizeLinear",
                                     "MatMulInteger",
                                     "ConvInteger",
                                     "QLinearConv",
                                     "QLinearMatMul",
                                     "ScatterElements",
                                     "ScatterND",
                                     "Attention",
                                     "MaxUnpool",
                                     "ConvTranspose",
                                     "Einsum"};

void check(Sample sample, Draw& draw, Seen& seen) {
  if (has_strings(sample.inputs)) return;
  Running running(std::move(sample));
  if (!running.run()) return;
  check_outputs(running.describe(), running.sample.inputs, running.outputs, draw, seen);
}

TEST(EqualityOfPrograms, OnRandomCalls) {
  Seen seen;
  const int cases = case_count(40000);
  for (int seed = 0; seed < cases; ++seed) {
    Draw draw(static_cast<std::uint64_t>(seed), 92);
    const auto blend = random_blend(draw);
    const tensor::Shape shape = random_shape(draw, static_cast<int>(draw.number(1, 4)), 300);
    using tensor::DType;
    constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat32,  DType::kFloat64,
                                DType::kInt32,   DType::kInt64,   DType::kUint32,   DType::kFloat16,
                                DType::kUint8,   DType::kInt8,    DType::kBfloat16, DType::kInt16,
                                DType::kUint16,  DType::kBool,    DType::kUint64};
    const Tensor x = random_of(draw, draw.of(kTypes), shape, blend);
    const auto recipe = seed % 4 == 0 ? draw.of(kRareRecipes).make : draw.of(kRecipes).make;
    const auto sample = recipe(draw, x);
    if (sample) check(*sample, draw, seen);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << " " << sample->name;
  }
  RecordProperty("elements", std::to_string(seen.elements));
  RecordProperty("steps", std::to_string(seen.steps));
  EXPECT_GT(seen.elements, 10000);
}

// Every row of the operator table has samples, in all opsets: the forms that no recipe draws.
TEST(EqualityOfPrograms, OnSamplesOfEveryRow) {
  Seen seen;
  Draw draw(1, 94);
  using tensor::DType;
  for (const Sample& sample : kernels::testing::all_samples()) {
    check(sample, draw, seen);
    check(kernels::testing::with_specials(sample), draw, seen);
    for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
      check(kernels::testing::as_type(sample, dtype), draw, seen);
    }
    ASSERT_FALSE(HasFatalFailure()) << sample.name << " opset " << sample.opset;
  }
  for (const auto& row : arbiter::disputable_operators()) {
    EXPECT_TRUE(seen.operators.contains(std::string(row.name))) << row.name << " is not tried";
  }
  for (const char* name : kMustHave) EXPECT_TRUE(seen.operators.contains(name)) << name;
}

// What nobody would run: sizes, attributes and lists changed at random. A program is refused or it
// names its steps, soon and in little memory, since its call may come from two liars.
class OddCalls {
 public:
  OddCalls(NodeCall call, Draw& draw) : call_(std::move(call)), draw_(draw) {}
  NodeCall bent() {
    for (std::int64_t n = draw_.number(1, 3); n > 0; --n) {
      if (draw_.one_in(3)) {
        bend_attribute();
      } else if (!call_.inputs.empty()) {
        bend_input(static_cast<std::size_t>(
            draw_.number(0, static_cast<std::int64_t>(call_.inputs.size()) - 1)));
      }
    }
    return call_;
  }

 private:
  std::int64_t odd_number() {
    constexpr std::int64_t kOdd[] = {
        0, 1, -1, 2, 3, 7, 31, 1 << 20, -2, -9, 33, 1LL << 31, 1LL << 40, INT64_MAX, INT64_MIN, 64};
    return draw_.of(kOdd);
  }
  void bend_attribute() {
    if (call_.node.attributes.empty()) return;
    auto at = call_.node.attributes.begin();
    std::advance(at, draw_.number(0, static_cast<std::int64_t>(call_.node.attributes.size()) - 1));
    if (auto* whole = std::get_if<std::int64_t>(&at->second)) *whole = odd_number();
    if (auto* real = std::get_if<std::uint32_t>(&at->second)) {
      *real = kernels::testing::special_bits(draw_.word());
    }
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&at->second)) {
      if (draw_.one_in(4)) list->push_back(odd_number());
      if (!list->empty()) draw_.one_in(4) ? list->pop_back() : void(list->back() = odd_number());
    }
  }
  void bend_input(std::size_t i) {
    arbiter::Shaped& type = call_.inputs[i];
    constexpr std::uint64_t kDims[] = {0, 1, 2, 3, 16, 1 << 12, 1 << 20, 1ull << 40};
    if (!type.dims.empty() && draw_.one_in(2)) {
      const auto last = static_cast<std::int64_t>(type.dims.size()) - 1;
      type.dims[static_cast<std::size_t>(draw_.number(0, last))] = draw_.of(kDims);
    }
    if (draw_.one_in(5)) type.dims.push_back(draw_.of(kDims));
    if (draw_.one_in(5)) type.dtype = static_cast<std::uint8_t>(draw_.number(0, 24));
    if (!type.is_there() || !type.valid() || !arbiter::is_list(type)) {
      call_.lists[i].reset();
      return;
    }
    auto& list = call_.lists[i] ? *call_.lists[i] : call_.lists[i].emplace();
    list.resize(static_cast<std::size_t>(type.elements()));
    if (!list.empty() && draw_.one_in(2)) list.back() = odd_number();
  }

  NodeCall call_;
  Draw& draw_;
};

// What ranks above all in the first place of a row has the largest key there is; and a NaN keeps
// what is best, but not the last place.
TEST(EqualityOfPrograms, OfRowsThatBeginWithTheirExtreme) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min(),
                         kHigh = std::numeric_limits<std::int32_t>::max();
  const Tensor rows[] = {
      Tensor::of<float>({2, 3}, std::array{kNan, 2.0f, -1.0f, kNan, kNan, 5.0f}),
      Tensor::of<std::int32_t>({2, 3}, std::array{kHigh, 2, kLow, kLow, kHigh, kLow})};
  const Tensor all = Tensor::of<std::int64_t>({1}, std::array{std::int64_t{3}});
  Draw draw(5, 95);
  Seen seen;
  for (const Tensor& x : rows) {
    for (const std::int64_t flag : {0, 1}) {
      kernels::Attributes order, place;
      order.set("largest", flag);
      place.set("select_last_index", flag);
      place.set("axis", std::int64_t{1});
      check({"TopK", 17, {x, all}, order, 2}, draw, seen);
      check({"ArgMax", 17, {x}, place}, draw, seen);
      check({"ArgMin", 17, {x}, place}, draw, seen);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  EXPECT_EQ(seen.operators.size(), 3);
}

TEST(EqualityOfPrograms, NoneFailsOnACallThatNobodyWouldRun) {
  Draw draw(11, 91);
  int accepted = 0;
  for (Sample& sample : kernels::testing::all_samples()) {
    if (has_strings(sample.inputs)) continue;
    Running running(std::move(sample));
    if (!running.run()) continue;
    const NodeCall call = running.describe();
    for (int n = 0; n < case_count(150); ++n) {
      NodeCall odd = OddCalls(call, draw).bent();
      for (std::size_t o = 0; o < call.outputs.size(); ++o) {
        odd.outputs.resize(o);
        const auto type = arbiter::output_type(odd, o);
        if (!type) break;
        odd.outputs.push_back(*type ? **type : call.outputs[o]);
        const std::int64_t elements = odd.outputs[o].elements();
        if (elements == 0) continue;
        const auto last = static_cast<std::uint64_t>(elements - 1);
        const auto program = Program::of(odd, o, draw.one_in(2) ? last : last / 2);
        if (!program) continue;
        program->at(0);
        program->at(program->steps() / 2);
        program->at(program->steps() - 1);
        ++accepted;
      }
    }
  }
  EXPECT_GT(accepted, 1000);
}

// The Winograd clause, both tiles, edges and pads; special values spread over tiles.
TEST(EqualityOfPrograms, OnWinogradLayers) {
  Draw draw(3, 93);
  Seen seen;
  for (const std::int64_t side : {5, 12, 13, 14, 17}) {
    for (const auto blend : {Blend::kPlain, Blend::kSpecial}) {
      const Tensor x = random_of(draw, tensor::DType::kFloat32, {2, 18, side, side}, blend);
      const Tensor w = random_of(draw, tensor::DType::kFloat32, {3, 18, 3, 3}, blend);
      const Tensor b = random_of(draw, tensor::DType::kFloat32, {3}, blend);
      kernels::Attributes attributes;
      attributes.set("pads", std::vector<std::int64_t>{1, 0, 1, 2});
      check({"Conv", 17, {x, w, b}, attributes}, draw, seen);
      check({"Conv", 17, {x, w}, {}}, draw, seen);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  EXPECT_EQ(seen.elements, 120);
}

void add_programs(const NodeCall& call, std::string& text) {
  constexpr std::uint64_t kTried = 64;  // of the steps of each
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    NodeCall until = call;
    until.outputs.resize(o + 1);
    const auto count = static_cast<std::uint64_t>(call.outputs[o].elements());
    for (std::uint64_t e = 0; e < count; e += std::max<std::uint64_t>(count - 1, 1)) {
      const auto program = Program::of(until, o, e);
      if (!program) continue;  // nor is there a type
      fmt::format_to(std::back_inserter(text), "\n{}", program->steps());
      for (std::uint64_t k = 0; k < program->steps(); k += 1 + program->steps() / kTried) {
        const arbiter::Step step = program->at(k);
        fmt::format_to(std::back_inserter(text), " {}", scalar::operation(step.op).name);
        for (int i = 0; i < scalar::operation(step.op).operands; ++i) {
          const arbiter::Operand& from = step.operands[static_cast<std::size_t>(i)];
          fmt::format_to(std::back_inserter(text), ",{},{},{:x}", static_cast<int>(from.kind),
                         from.input, from.value);
        }
      }
    }
  }
}

// Of the first and the last element of each output of each operator's samples, as far as those run,
// up to 65 steps each: no change of any other is seen here. Builds of one version judge alike.
// Where an operator has come or gone, or with a new version, write the file anew:
// COMMENSAL_WRITE_VECTORS=1
TEST(PublishedPrograms, ChangeOnlyWithTheirVersion) {
  std::map<std::string, std::string> texts;
  for (const Sample& sample : kernels::testing::all_samples()) {
    if (has_strings(sample.inputs) || !sample.domain.empty()) continue;
    Running running(sample);
    if (running.run()) add_programs(running.describe(), texts[sample.name]);
  }
  std::string made = fmt::format("version {}\n", arbiter::kProgramsVersion);
  for (const auto& [name, text] : texts) {
    const auto hash = core::to_hex(crypto::sha256(core::as_bytes(text)));
    if (!text.empty()) made += fmt::format("{} {}\n", name, hash.substr(0, 16));
  }
  const core::Path path(COMMENSAL_SOURCE_DIR "/tests/vectors/programs.txt");
  if (std::getenv("COMMENSAL_WRITE_VECTORS") != nullptr) {
    if (const auto before = core::read_file(path))
      testing::expect_kept(std::string(core::as_text(*before)), made);
    ASSERT_TRUE(core::write_file_atomically(path, core::as_bytes(made)));
  }
  const auto published = core::read_file(path);
  ASSERT_TRUE(published) << published.error().message;
  EXPECT_EQ(made, core::as_text(*published))
      << "a program that changes raises kProgramsVersion; where only"
      << " samples have come or gone: COMMENSAL_WRITE_VECTORS=1";
}

}  // namespace
}  // namespace commensal::dispute
