// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <vector>

namespace commensal::tensor {
namespace {

TEST(Shape, RefusesWhatOverflowsOrIsNegative) {
  const std::int64_t huge[] = {1 << 30, 1 << 30, 0};
  EXPECT_FALSE(Shape::of(huge));
  const std::int64_t negative[] = {2, -1};
  EXPECT_FALSE(Shape::of(negative));
  const std::vector<std::int64_t> deep(limits::kRankMax + 1, 1);
  EXPECT_FALSE(Shape::of(deep));
  EXPECT_EQ(Shape({2, 0, 3}).elements(), 0);
  EXPECT_EQ(Shape().elements(), 1);
}

TEST(Shape, BroadcastsAsNumpyDoes) {
  EXPECT_EQ(*broadcast({3, 1}, {2, 1, 4}), Shape({2, 3, 4}));
  EXPECT_EQ(*broadcast({0}, {1}), Shape({0}));
  EXPECT_FALSE(broadcast({3}, {2}));
}

TEST(Arena, RecyclesAndBounds) {
  Arena arena(1 << 20);
  auto first = *arena.allocate(1000);
  const std::byte* address = first.get();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % Arena::kAlignment, 0u);
  first.reset();
  EXPECT_EQ(arena.bytes_in_use(), 0);
  EXPECT_EQ(arena.allocate(1000)->get(), address);
  EXPECT_EQ(arena.allocate(2 << 20).error().code, core::ErrorCode::kResourceExhausted);
  EXPECT_EQ(arena.allocate(std::int64_t{1} << 62).error().code,
            core::ErrorCode::kResourceExhausted);
}

TEST(Arena, KeptBlocksGiveWayToAnotherSize) {
  Arena arena(1 << 20);
  { auto kept = *arena.allocate(900 << 10); }
  EXPECT_TRUE(arena.allocate(800 << 10));
  EXPECT_LE(arena.bytes_peak(), 1 << 20);
}

TEST(Tensor, HoldsStringsWithoutBytes) {
  const Tensor words = Tensor::of_strings({2}, {"one", std::string("t\0o", 3)});
  EXPECT_EQ(words.type().text(), "string[2]");
  EXPECT_TRUE(words.bytes().empty());
  const Tensor again =
      Tensor::of_string_views({1, 2}, {words.strings()[1], words.strings()[0]}, {words.owner()});
  EXPECT_EQ(again.strings()[0].size(), 3u);
  EXPECT_EQ(again.strings()[1], "one");
}

class MappedTensor : public ::testing::TestWithParam<std::size_t> {};

TEST_P(MappedTensor, HasItsElementsWhereverTheyLie) {
  const core::Path path =
      core::Path(::testing::TempDir()) / ("commensal_tensor_" + std::to_string(GetParam()));
  std::vector<float> values(3 << 20);  // several pieces
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  core::Bytes bytes(GetParam());
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  bytes.insert(bytes.end(), first, first + values.size() * sizeof(float));
  ASSERT_TRUE(core::write_file_atomically(path, bytes));
  const auto file = core::MappedFile::open(path);
  ASSERT_TRUE(file);
  const TensorType type{DType::kFloat32, {static_cast<std::int64_t>(values.size())}};
  const Tensor mapped = Tensor::mapped(type, (*file)->bytes().subspan(GetParam()), *file);
  const auto holds_values = [&values](const Tensor& tensor) {
    const auto data = tensor.data<float>();
    return std::equal(data.begin(), data.end(), values.begin(), values.end());
  };

  const Tensor once = mapped.read_once();
  EXPECT_TRUE(holds_values(once));
  mapped.forget_pages();
  const Tensor other = mapped.reshaped({1, type.shape.elements()});
  EXPECT_TRUE(holds_values(other));
  EXPECT_TRUE(holds_values(mapped));
  EXPECT_EQ(mapped.place(), other.place());
  EXPECT_EQ(mapped.bytes().data(), other.bytes().data());  // one copy at most
  mapped.forget_pages();
  EXPECT_TRUE(holds_values(mapped));
}
INSTANTIATE_TEST_SUITE_P(Offsets, MappedTensor, ::testing::Values(0, 1, 4, 4095));

TEST(DTypes, StringsAreForThoseThatCanTakeThem) {
  EXPECT_FALSE(dtype_from_onnx(static_cast<int>(DType::kString)));
  EXPECT_EQ(any_dtype_from_onnx(static_cast<int>(DType::kString)), DType::kString);
  EXPECT_FALSE(any_dtype_from_onnx(0));
  EXPECT_EQ(dtype_from_oip("BYTES"), DType::kString);
  EXPECT_FALSE(dtype_from_oip(""));
}

TEST(Float16, RoundTripsEveryValue) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const bool is_nan = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0;
    EXPECT_EQ(to_float16(to_float(half)).bits, is_nan ? 0x7e00 : bits);
    const Bfloat16 brain{static_cast<std::uint16_t>(bits)};
    const bool is_brain_nan = (bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0;
    EXPECT_EQ(to_bfloat16(to_float(brain)).bits, is_brain_nan ? 0x7fc0 : bits);
  }
}

TEST(Float16, RoundsToNearestEven) {
  EXPECT_EQ(to_float16(1.0f + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(to_float16(1.0f + 3 * 0x1p-11f).bits, 0x3c02);
  EXPECT_EQ(to_float16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_float16(0x1p-25f).bits, 0);
  EXPECT_EQ(to_float16(0x1.8p-25f).bits, 1);
  EXPECT_EQ(to_bfloat16(1.0f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(3.4e38f).bits, 0x7f80);
}

}  // namespace
}  // namespace commensal::tensor
