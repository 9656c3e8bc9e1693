// SPDX-License-Identifier: Apache-2.0
// Random calls by ref/ and by cpu/ on every instruction set of this machine, with 1 to 8 threads,
// with packed constants and without: the same bits. And single elements, which audits compute
// alone, are those of the whole.
#include <gtest/gtest.h>

#include <array>
#include <commensal/compute/kernels/testing/random_rare.hpp>
#include <memory>
#include <set>

namespace commensal::kernels {
namespace {

using namespace testing;
using tensor::DType;

constexpr int kThreadsMost = 8;
constexpr std::array kTypes = {DType::kFloat32, DType::kFloat32, DType::kFloat32, DType::kFloat32,
                               DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16,
                               DType::kInt32,   DType::kInt64,   DType::kUint8,   DType::kInt8,
                               DType::kBool,    DType::kUint32,  DType::kInt16,   DType::kUint64};

Tensor random_input(Draw& draw, std::string_view recipe) {
  const Blend blend = random_blend(draw);
  const std::int64_t most = draw.one_in(8) ? 40'000 : 300;
  if (recipe == "conv" || recipe == "pool") {
    Ints dims = {draw.dimension(3), draw.dimension(draw.one_in(2) ? 24 : 4)};
    const std::int64_t spatial = draw.one_in(2) ? 2 : draw.number(1, 4);
    for (std::int64_t i = 0; i < spatial; ++i) dims.push_back(draw.dimension(spatial > 2 ? 7 : 18));
    if (draw.one_in(3)) dims.back() = draw.number(15, 40);  // more than a vector
    return random_of(draw, draw.one_in(6) ? draw.of(kTypes) : DType::kFloat32, shape_of(dims),
                     blend);
  }
  const bool layer = recipe == "gemm" || recipe == "matmul" || recipe == "normalisation";
  if (recipe == "recurrent" || recipe == "grid" || recipe == "loss" || recipe == "einsum" ||
      recipe == "attention") {
    Ints dims;
    const int rank = recipe == "recurrent" ? 3 : recipe == "grid" ? 4 : 2;
    for (int i = 0; i < rank; ++i) dims.push_back(draw.dimension(6));
    const DType dtype = draw.one_in(4) ? draw.of(kTypes) : DType::kFloat32;
    return random_of(draw, dtype, shape_of(dims), blend);
  }
  if (recipe == "code_product") {
    const tensor::Shape shape = draw.one_in(2)
                                    ? random_shape(draw, 2, 400)
                                    : tensor::Shape{draw.dimension(2), draw.dimension(5),
                                                    draw.number(2, 9), draw.number(2, 9)};
    return random_of(draw, draw.one_in(2) ? DType::kUint8 : DType::kInt8, shape, Blend::kWild);
  }
  if (recipe == "places" && draw.one_in(2)) {  // square matrices
    const std::int64_t side = draw.number(1, 7);
    return random_of(draw, DType::kFloat32, {draw.number(1, 5), side, side}, blend);
  }
  const DType dtype = layer && !draw.one_in(4)                  ? DType::kFloat32
                      : recipe == "quantised" && draw.one_in(2) ? DType::kUint8
                                                                : draw.of(kTypes);
  const auto rank = recipe == "gemm" ? 2 : static_cast<int>(draw.number(layer ? 1 : 0, 5));
  const tensor::Shape shape =
      random_shape(draw, rank, layer ? std::min<std::int64_t>(most, 4000) : most);
  return random_of(draw, dtype, shape, blend);
}

class Runner {
 public:
  explicit Runner(const Sample& sample) : sample_(sample), arena_(std::int64_t{1} << 31) {
    op_ = *find_operator(sample_.domain, sample_.name, sample_.opset);
    for (const Tensor& input : sample_.inputs) {
      inputs_.push_back(input.defined() ? &input : nullptr);
    }
    call_.opset = sample_.opset;
    call_.attributes = &sample_.attributes;
    call_.inputs = inputs_;
    call_.output_count = sample_.outputs;
  }

  bool infer() {
    auto types = op_->judge->infer(call_);
    if (types) call_.outputs = *std::move(types);
    return types.has_value();
  }
  std::int64_t elements() const {
    std::int64_t sum = 0;
    for (const TensorType& type : call_.outputs) sum += type.shape.elements();
    return sum;
  }
  const Operator& op() const { return *op_; }

  std::string text() const {
    std::string made = fmt::format("{} at opset {}:", sample_.name, sample_.opset);
    for (const Tensor& input : sample_.inputs) made += " " + input.type().text();
    for (const auto& [name, value] : sample_.attributes.all()) {
      made += " " + name + "=";
      if (const auto* one = std::get_if<std::int64_t>(&value)) made += std::to_string(*one);
      if (const auto* one = std::get_if<float>(&value)) made += std::to_string(*one);
      if (const auto* one = std::get_if<std::string>(&value)) made += *one;
      if (const auto* all = std::get_if<Ints>(&value)) {
        for (const std::int64_t item : *all) made += std::to_string(item) + ",";
      }
    }
    return made;
  }

  std::vector<Tensor> run(KernelFn kernel, ThreadPool& pool, Isa isa, const Packed* packed) {
    return run(call_, kernel, pool, isa, packed);
  }

  /// In a node of a planned graph: after a run in which everything else was other that may be.
  std::vector<Tensor> run_again(KernelFn kernel, ThreadPool& pool, Isa isa) {
    std::vector<Tensor> others = sample_.inputs;
    std::vector<const Tensor*> before = inputs_;
    Draw draw(7, 7);
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (!others[i].defined() || op_->reads_ahead(i)) continue;
      others[i] = random_of(draw, others[i].dtype(), others[i].shape(), Blend::kPlain);
      before[i] = &others[i];
    }
    std::atomic<std::int64_t> budget = std::int64_t{1} << 30;
    Call call = call_;
    call.memo.keep(budget, 0);
    call.inputs = before;
    run(call, kernel, pool, isa, nullptr);
    call.inputs = inputs_;
    return run(call, kernel, pool, isa, nullptr);
  }

  std::shared_ptr<const Packed> pack(Isa isa) {
    if (op_->pack == nullptr) return nullptr;
    std::vector<const Tensor*> constants = inputs_;
    constants[0] = nullptr;
    Call call = call_;
    call.inputs = constants;
    auto packed = op_->pack(call, isa);
    EXPECT_TRUE(packed.has_value()) << text();
    return packed ? *packed : nullptr;
  }

  /// Some elements alone.
  void check_elements(const std::vector<Tensor>& outputs) {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const auto size = static_cast<std::size_t>(tensor::traits(outputs[o].dtype()).size);
      const std::int64_t count = outputs[o].elements();
      for (std::int64_t i = 0; i < count; i += 1 + count / 10) {
        Scalar expected{outputs[o].dtype(), 0};
        std::memcpy(&expected.bits, outputs[o].bytes().data() + static_cast<std::size_t>(i) * size,
                    size);
        const Scalar got = op_->judge->element(call_, static_cast<int>(o), i);
        ASSERT_EQ(got, expected) << text() << ": element " << i << " of output " << o << " is "
                                 << fmt::format("{:x}, alone {:x}", expected.bits, got.bits);
      }
    }
  }

 private:
  std::vector<Tensor> run(const Call& call, KernelFn kernel, ThreadPool& pool, Isa isa,
                          const Packed* packed) {
    std::vector<Tensor> outputs;
    for (const TensorType& type : call.outputs) {
      outputs.push_back(*Tensor::allocate(arena_, type));
      const auto bytes = outputs.back().mutable_bytes();
      if (!bytes.empty()) std::memset(bytes.data(), 0xA5, bytes.size());
    }
    Workspace workspace{arena_, pool, isa, packed};
    const auto done = kernel(call, outputs, workspace);
    EXPECT_TRUE(done.has_value()) << text() << ": " << (done ? "" : done.error().message);
    return outputs;
  }

  Sample sample_;
  tensor::Arena arena_;
  const Operator* op_ = nullptr;
  std::vector<const Tensor*> inputs_;
  Call call_;
};

std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const auto a = got[o].bytes(), b = expected[o].bytes();
    if (got[o].type() == expected[o].type() && std::ranges::equal(a, b)) continue;
    const auto at = std::ranges::mismatch(a, b).in1 - a.begin();
    return fmt::format("output {} {}: byte {} differs", o, got[o].type().text(), at);
  }
  return {};
}

void check_call(Runner& runner, std::span<const std::unique_ptr<ThreadPool>> pools) {
  const auto expected = runner.run(runner.op().judge->run, *pools[0], Isa::kAvx2, nullptr);
  runner.check_elements(expected);
  ASSERT_EQ(difference(runner.run_again(runner.op().judge->run, *pools[0], Isa::kAvx2), expected),
            "")
      << runner.text() << " by ref/ again";
  if (runner.op().fast() == nullptr) return;
  for (const Isa isa : available_isas()) {
    ASSERT_EQ(difference(runner.run_again(runner.op().fast(), *pools[1], isa), expected), "")
        << runner.text() << " " << name_of(isa) << " again";
    const auto packed = runner.pack(isa);
    for (const auto& pool : pools) {
      for (const Packed* constants : {static_cast<const Packed*>(nullptr), packed.get()}) {
        const auto got = runner.run(runner.op().fast(), *pool, isa, constants);
        ASSERT_EQ(difference(got, expected), "")
            << runner.text() << " " << name_of(isa) << " threads=" << pool->threads()
            << (constants != nullptr ? " packed" : "");
        if (packed == nullptr) break;
      }
    }
  }
}

/// `cases` random calls of each of these recipes. Most first inputs fit at once; others are drawn
/// anew. Returns the operators that were called.
std::set<std::string_view> check_recipes(std::initializer_list<std::string_view> names, int cases) {
  std::set<std::string_view> called;
  std::vector<std::unique_ptr<ThreadPool>> pools;
  for (int n = 1; n <= kThreadsMost; ++n) pools.push_back(std::make_unique<ThreadPool>(n));
  for (const std::string_view name : names) {
    const auto* recipe = std::ranges::find(kRecipes, name, &NamedRecipe::name);
    if (recipe == std::end(kRecipes)) {
      recipe = std::ranges::find(kRareRecipes, name, &NamedRecipe::name);
    }
    std::uint64_t stream = 0;  // the recipe's own
    for (const char letter : name) stream = stream * 31 + static_cast<std::uint64_t>(letter);
    int done = 0, tries = 0;
    for (; done < case_count(cases) && tries < 40 * case_count(cases); ++tries) {
      Draw draw(static_cast<std::uint64_t>(tries), stream);
      auto sample = recipe->make(draw, random_input(draw, name));
      if (!sample) continue;
      for (Tensor& input : sample->inputs) {
        if (input.defined() && draw.one_in(3)) input = misplaced(draw, input);
      }
      Runner runner(*sample);
      if (!runner.infer() || runner.elements() > 200'000) continue;
      SCOPED_TRACE(fmt::format("{} {}", name, tries));
      check_call(runner, pools);
      if (::testing::Test::HasFailure()) return called;
      called.insert(runner.op().name);
      ++done;
    }
    EXPECT_EQ(done, case_count(cases)) << name << ": of " << tries << " calls too few were valid";
  }
  return called;
}

TEST(EqualityRandomCalls, Elementwise) {
  const auto called = check_recipes({"unary", "binary", "variadic", "choice", "cast"}, 300);
  EXPECT_GE(called.size(), 55U);
}

TEST(EqualityRandomCalls, Movement) {
  const auto called = check_recipes(
      {"transpose", "reshape", "ones", "slice", "join", "gather", "growth", "layout"}, 200);
  EXPECT_GE(called.size(), 16U);
}

TEST(EqualityRandomCalls, Places) {
  const auto called = check_recipes({"resize", "scatter", "places"}, 200);
  EXPECT_GE(called.size(), 4U);
}

TEST(EqualityRandomCalls, Rare) {
  const auto called =
      check_recipes({"einsum", "attention", "grid", "loss", "recurrent", "picking"}, 150);
  EXPECT_GE(called.size(), 11U);
}

TEST(EqualityRandomCalls, Resize) { EXPECT_EQ(check_recipes({"resizing"}, 400).size(), 1U); }
TEST(EqualityRandomCalls, Samples) { EXPECT_EQ(check_recipes({"sampling"}, 300).size(), 3U); }
TEST(EqualityRandomCalls, Columns) { EXPECT_EQ(check_recipes({"columns"}, 200).size(), 1U); }
TEST(EqualityRandomCalls, Bends) { EXPECT_EQ(check_recipes({"bending"}, 200).size(), 2U); }
TEST(EqualityRandomCalls, Caches) { EXPECT_EQ(check_recipes({"caching"}, 300).size(), 2U); }
TEST(EqualityRandomCalls, Spectra) { EXPECT_EQ(check_recipes({"spectrum"}, 200).size(), 2U); }
TEST(EqualityRandomCalls, Puts) { EXPECT_EQ(check_recipes({"putting"}, 300).size(), 6U); }
TEST(EqualityRandomCalls, Finds) { EXPECT_EQ(check_recipes({"finding"}, 300).size(), 8U); }

TEST(EqualityRandomCalls, Folds) {
  const auto called = check_recipes({"reduction", "along"}, 300);
  EXPECT_GE(called.size(), 16U);
}

TEST(EqualityRandomCalls, Products) {
  const auto called = check_recipes({"conv", "gemm", "matmul"}, 300);
  EXPECT_GE(called.size(), 4U);
}

TEST(EqualityRandomCalls, Layers) {
  const auto called = check_recipes({"pool", "normalisation", "quantised", "code_product"}, 300);
  EXPECT_GE(called.size(), 15U);
}

// What a node's kernel has parsed it keeps for other elements.
TEST(EqualityOfRunsAgain, OfEveryRow) {
  ThreadPool pool(1);
  for (const Sample& sample : all_samples()) {
    Runner runner(sample);
    const auto& judge = *runner.op().judge;
    const bool computes = judge.run != nullptr && runner.op().shaped_by();
    const auto is_text = [](const Tensor& input) { return input.dtype() == DType::kString; };
    if (!computes || std::ranges::any_of(sample.inputs, is_text)) continue;
    ASSERT_TRUE(runner.infer()) << runner.text();
    const auto expected = runner.run(judge.run, pool, Isa::kAvx2, nullptr);
    for (const auto& [kernel, isas] :
         {std::pair(judge.run, std::span<const Isa>()), {runner.op().fast(), available_isas()}}) {
      const Isa isa = isas.empty() ? Isa::kAvx2 : isas.back();
      if (kernel == nullptr || (kernel != judge.run && isas.empty())) continue;
      EXPECT_EQ(difference(runner.run_again(kernel, pool, isa), expected), "") << runner.text();
    }
  }
}

}  // namespace
}  // namespace commensal::kernels
