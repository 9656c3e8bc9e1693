// SPDX-License-Identifier: Apache-2.0
// Calls whose arena has no room for what the fast kernels would like to have: they are served.
#include <array>
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <commensal/compute/kernels/otherwise.hpp>
#include <commensal/compute/tensor/float16.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Float16;
using tensor::Shape;

Tensor halves_of(const Tensor& from) {
  std::vector<Float16> made;
  for (const float one : from.data<float>()) made.push_back(tensor::to_float16(one));
  return Tensor::of<Float16>(from.shape(), made);
}

/// With an arena of so many bytes.
void expect_served_in(std::int64_t bytes, const Case& test) {
  SCOPED_TRACE(fmt::format("{} in {} bytes", test.name, bytes));
  for (const Isa isa : available_isas()) {
    CaseRunner(test).compare_with([&](const Operator& op, const Call& call, auto outputs) {
      ThreadPool pool(3);
      tensor::Arena arena(bytes);
      Workspace ws{arena, pool, isa, nullptr};
      return run_otherwise(op, op.fast()(call, outputs, ws), call, outputs, ws);
    });
  }
}

TEST(ScarceMemory, HalvesThatCannotBecomeBinary32) {
  const Tensor x = halves_of(random_tensor({40, 50}, 5, Values::kSpecial));
  for (const std::string_view name : {"ReduceSum", "ReduceMax", "ReduceLogSumExp", "ArgMax"}) {
    // For neither, for the input only, for both.
    for (const std::int64_t bytes : {0, 8192, 1 << 20}) {
      expect_served_in(bytes, {.name = name, .attributes = {}, .inputs = {x}, .constants = {}});
    }
  }
}

// The fault: blocks of pictures were wanted, and a model that fits in ref/ did not run.
TEST(ScarceMemory, ConvolutionsOfHalves) {
  Case test{.name = "Conv",
            .opset = 22,
            .attributes = {},
            .inputs = {halves_of(random_tensor({1, 16, 40, 40}, 1)),
                       halves_of(random_tensor({32, 16, 3, 3}, 2))},
            .constants = {}};
  test.attributes.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  for (const Isa isa : available_isas()) {
    for (const std::int64_t bytes : {0, 1 << 16, 1 << 18, 1 << 22}) {
      SCOPED_TRACE(bytes);
      CaseRunner(test).compare_with([&](const Operator& op, const Call& call, auto outputs) {
        const Tensor* constants[] = {nullptr, call.inputs[1]};
        Call given = call;
        given.inputs = constants;
        const auto packed = op.pack(given, isa);
        EXPECT_TRUE(packed && *packed);
        ThreadPool pool(3);
        tensor::Arena arena(bytes);
        Workspace ws{arena, pool, isa, packed ? packed->get() : nullptr};
        return run_otherwise(op, op.fast()(call, outputs, ws), call, outputs, ws);
      });
    }
  }
}

TEST(ScarceMemory, RecurrentLayers) {
  const std::pair<std::string_view, std::int64_t> all[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  for (const auto& [name, gates] : all) {
    Case test{.name = name,
              .opset = 14,
              .attributes = {},
              .inputs = {random_tensor({6, 5, 7}, 1), random_tensor({2, gates * 9, 7}, 2),
                         random_tensor({2, gates * 9, 9}, 3)},
              .constants = {}};
    test.attributes.set("direction", std::string("bidirectional"));
    // For neither, for x in panels, for one direction, for all.
    for (const std::int64_t bytes : {0, 2048, 12288, 1 << 20}) expect_served_in(bytes, test);
  }
}

/// The most that a call takes of an arena which has enough, in floats.
std::int64_t floats_taken(const Case& test, Isa isa) {
  std::int64_t peak = 0;
  CaseRunner(test).compare_with([&](const Operator& op, const Call& call, auto outputs) {
    ThreadPool pool(1);
    tensor::Arena arena(1 << 28);
    Workspace ws{arena, pool, isa, nullptr};
    core::Result<void> done = op.fast()(call, outputs, ws);
    peak = arena.bytes_peak();
    EXPECT_EQ(arena.bytes_in_use(), 0);
    return done;
  });
  return peak / static_cast<std::int64_t>(sizeof(float));
}

// The fault: weights that are no constants were packed, and halves widened, beside the arena.
TEST(ScarceMemory, WeightsOfACallAreOfTheArena) {
  const std::pair<std::string_view, std::int64_t> all[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  for (const auto& [name, gates] : all) {
    const std::int64_t units = 128, weights = gates * units * units;
    Case test{
        .name = name,
        .opset = 14,
        .attributes = {},
        .inputs = {random_tensor({1, 1, units}, 1), random_tensor({1, gates * units, units}, 2),
                   random_tensor({1, gates * units, units}, 3)},
        .constants = {}};
    for (const Isa isa : available_isas()) EXPECT_GE(floats_taken(test, isa), 2 * weights) << name;
    for (Tensor& input : test.inputs) input = halves_of(input);
    for (const Isa isa : available_isas()) EXPECT_GE(floats_taken(test, isa), 4 * weights) << name;
    // For neither, for some of what is packed.
    for (const std::int64_t bytes : {0, 1 << 17, 1 << 19}) expect_served_in(bytes, test);
  }
  Case conv{.name = "Conv",
            .opset = 22,
            .attributes = {},
            .inputs = {random_tensor({1, 16, 5, 5}, 1), random_tensor({130, 16, 5, 5}, 2)},
            .constants = {}};
  for (const bool winograd : {false, true}) {
    if (winograd) conv.inputs[1] = random_tensor({130, 16, 3, 3}, 2);
    const std::int64_t weights = conv.inputs[1].elements();
    for (const Isa isa : available_isas()) {
      EXPECT_GE(floats_taken(conv, isa), weights * (winograd ? 16 : 9) / 9) << winograd;
    }
    for (const std::int64_t bytes : {0, 1 << 15, 1 << 17, 1 << 19}) expect_served_in(bytes, conv);
  }
}

TEST(ScarceMemory, WeightsOfOtherConvolutionsAreCounted) {
  const Case turned{.name = "ConvTranspose",
                    .opset = 22,
                    .attributes = {},
                    .inputs = {random_tensor({1, 64, 3, 3}, 1), random_tensor({64, 70, 3, 3}, 2)},
                    .constants = {}};
  const auto codes = [](const Shape& shape) {
    return Tensor::copy_of(
        {tensor::DType::kUint8, shape},
        std::vector<std::uint8_t>(static_cast<std::size_t>(shape.elements()), 7));
  };
  const Case of_codes{.name = "ConvInteger",
                      .opset = 10,
                      .attributes = {},
                      .inputs = {codes({1, 64, 3, 3}), codes({70, 64, 3, 3})},
                      .constants = {}};
  for (const Isa isa : available_isas()) {
    EXPECT_GE(floats_taken(turned, isa), 3 * turned.inputs[1].elements());
    EXPECT_GE(floats_taken(of_codes, isa), of_codes.inputs[1].elements() / 4);
  }
  for (const std::int64_t bytes : {0, 1 << 16, 1 << 20}) expect_served_in(bytes, turned);
  for (const std::int64_t bytes : {0, 1 << 14, 1 << 20}) expect_served_in(bytes, of_codes);
}

Case top_of(const Shape& shape, std::int64_t k) {
  return {.name = "TopK",
          .opset = 11,
          .attributes = {},
          .inputs = {random_tensor(shape, 3, Values::kSpecial),
                     Tensor::of<std::int64_t>({1}, std::span(&k, 1))},
          .constants = {},
          .outputs = 2};
}

TEST(ScarceMemory, TopK) {
  const Case all[] = {top_of({40, 3000}, 1400), top_of({1, 100003}, 900)};
  for (const Case& test : all) {
    // For no thread, for one, for all.
    for (const std::int64_t bytes : {0, 40000, 1 << 20}) expect_served_in(bytes, test);
  }
}

TEST(ScarceMemory, TopKAsksTheArenaForWhatItKeeps) {
  const std::int64_t k = 1400;
  const Case test = top_of({40, 3000}, k);
  for (const Isa isa : available_isas()) {
    CaseRunner(test).compare_with([&](const Operator& op, const Call& call, auto outputs) {
      ThreadPool pool(3);
      tensor::Arena arena(1 << 20);
      Workspace ws{arena, pool, isa, nullptr};
      core::Result<void> done = run_otherwise(op, op.fast()(call, outputs, ws), call, outputs, ws);
      EXPECT_GE(arena.bytes_peak(), pool.threads() * k * 8);
      EXPECT_EQ(arena.bytes_in_use(), 0);
      return done;
    });
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
