// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

/// For tests: runs an operator of the table by ref/ and by cpu/ on every instruction set of this
/// machine, with 1 to 4 threads, with packed constants and without, and compares all bits.
namespace commensal::kernels::cpu::testing {

/// What random elements are made of.
enum class Values {
  kPlain,    // in [-1, 1)
  kSpecial,  // one in 61 is NaN (with payload), infinite, a zero, subnormal or huge
  kTiny,     // half are zeros of both signs or subnormal, the rest near 1e-20: products underflow
};

inline float special_value(std::uint32_t word) {
  constexpr std::uint32_t kBits[] = {0x7fc00000, 0xffc01234, 0x7f800000, 0xff800000, 0x80000000,
                                     0x00000000, 0x00000001, 0x807fffff, 0x7f7fffff, 0x00800000};
  return std::bit_cast<float>(kBits[word % std::size(kBits)]);
}

inline float tiny_value(std::uint32_t word, float plain) {
  constexpr std::uint32_t kBits[] = {0x80000000, 0x00000000, 0x00000001, 0x80000003};
  return word % 2 == 0 ? 1e-20f * plain : std::bit_cast<float>(kBits[word / 2 % std::size(kBits)]);
}

inline Tensor random_tensor(const tensor::Shape& shape, std::uint64_t seed,
                            Values values = Values::kPlain) {
  core::CounterRng rng(seed, 7);
  std::vector<float> data(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = core::counter_symmetric_f32(seed, 0, i);
    const std::uint32_t word = rng.next_u32();
    if (values == Values::kSpecial && word % 61 == 0) data[i] = special_value(word / 61);
    if (values == Values::kTiny) data[i] = tiny_value(word, data[i]);
  }
  return Tensor::of<float>(shape, data);
}

struct Case {
  std::string_view name;
  int opset = 13;
  Attributes attributes;
  std::vector<Tensor> inputs;
  std::vector<int> constants;  // inputs that may be packed
  int outputs = 1;
  bool serves = true;  // it must: else plain loops are compared with themselves
};

/// What a list of cases is handed to: one of the back ends' comparisons with ref/.
using CheckCase = std::function<void(const Case&)>;

class CaseRunner {
 public:
  explicit CaseRunner(const Case& test) : test_(test), arena_(std::int64_t{1} << 32) {
    const auto found = find_operator("", test.name, test.opset);
    EXPECT_TRUE(found.has_value());
    operator_ = *found;
    for (const Tensor& input : test.inputs) inputs_.push_back(input.defined() ? &input : nullptr);
    call_.opset = test.opset;
    call_.attributes = &test.attributes;
    call_.inputs = inputs_;
    call_.output_count = test.outputs;
    auto types = operator_->judge->infer(call_);
    EXPECT_TRUE(types.has_value()) << (types ? "" : types.error().message);
    if (types) call_.outputs = *std::move(types);
  }

  /// What `run(operator, call, outputs)` makes, a Result, must be what ref/ makes.
  template <class Run>
  void compare_with(Run&& run) {
    ThreadPool one(1);
    const std::vector<Tensor> expected = this->run(operator_->judge->run, one, Isa::kAvx2, nullptr);
    std::vector<Tensor> got = fresh_outputs();
    const core::Result<void> done = run(*operator_, call_, std::span<Tensor>(got));
    ASSERT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    expect_same(got, expected);
  }

  void compare() {
    ASSERT_NE(operator_->fast(), nullptr);
    ThreadPool one(1);
    const std::vector<Tensor> expected = run(operator_->judge->run, one, Isa::kAvx2, nullptr);
    for (const Isa isa : available_isas()) {
      const std::shared_ptr<const Packed> packed = pack(isa);
      for (int threads = 1; threads <= 4; ++threads) {
        ThreadPool pool(threads);
        SCOPED_TRACE(fmt::format("{} {} threads={}", test_.name, name_of(isa), threads));
        call_.is_judged = false;
        expect_same(run(operator_->fast(), pool, isa, nullptr), expected);
        if (packed != nullptr)
          expect_same(run(operator_->fast(), pool, isa, packed.get()), expected);
        EXPECT_FALSE(test_.serves && call_.is_judged) << "by plain loops";
        if (::testing::Test::HasFailure()) return;
      }
    }
  }

  tensor::Arena& arena() { return arena_; }

  /// What its constants are packed to; null: nothing.
  std::shared_ptr<const Packed> pack(Isa isa) {
    if (operator_->pack == nullptr) return nullptr;
    std::vector<const Tensor*> constants(inputs_.size(), nullptr);
    for (const int i : test_.constants) {
      constants[static_cast<std::size_t>(i)] = inputs_[static_cast<std::size_t>(i)];
    }
    Call call = call_;
    call.inputs = constants;
    auto packed = operator_->pack(call, isa);
    EXPECT_TRUE(packed.has_value());
    return packed ? *packed : nullptr;
  }

 private:
  std::vector<Tensor> fresh_outputs() {
    std::vector<Tensor> outputs;
    for (const TensorType& type : call_.outputs) {
      outputs.push_back(*Tensor::allocate(arena_, type));
      std::memset(outputs.back().mutable_bytes().data(), 0xA5, outputs.back().bytes().size());
    }
    return outputs;
  }

  std::vector<Tensor> run(KernelFn kernel, ThreadPool& pool, Isa isa, const Packed* packed) {
    std::vector<Tensor> outputs = fresh_outputs();
    Workspace ws{arena_, pool, isa, packed};
    const auto done = kernel(call_, outputs, ws);
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    return outputs;
  }

  static void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t o = 0; o < got.size(); ++o) {
      const auto a = got[o].bytes(), b = expected[o].bytes();
      ASSERT_EQ(a.size(), b.size());
      if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) continue;
      const auto at =
          static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
      const std::size_t element = at / 4;  // as binary32, which all tests compare
      std::uint32_t bits[2];
      std::memcpy(&bits[0], a.data() + element * 4, 4);
      std::memcpy(&bits[1], b.data() + element * 4, 4);
      FAIL() << fmt::format("output {} {} element {}: {:08x}, ref {:08x}", o, got[o].type().text(),
                            element, bits[0], bits[1]);
    }
  }

  const Case& test_;
  tensor::Arena arena_;
  const Operator* operator_ = nullptr;
  std::vector<const Tensor*> inputs_;
  Call call_;
};

inline void expect_equal_to_ref(const Case& test) {
  if (available_isas().empty()) GTEST_SKIP() << "this machine has no instruction set of cpu/";
  CaseRunner(test).compare();
}

}  // namespace commensal::kernels::cpu::testing
