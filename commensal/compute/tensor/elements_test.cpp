// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/tensor/elements.hpp>

namespace commensal::tensor {
namespace {

using Texts = std::vector<std::string>;

Texts texts(const core::Result<Tensor>& made) {
  if (!made) return {made.error().message};
  return {made->strings().begin(), made->strings().end()};
}

core::Result<Tensor> of_text(const TensorType& type, std::string_view bytes) {
  return decoded_copy(type, core::as_bytes(bytes));
}

constexpr std::string_view kThree("\x03\0\0\0a\0b\0\0\0\0\x01\0\0\0z", 16);
const Texts kThreeTexts = {std::string("a\0b", 3), "", "z"};

TEST(Elements, OfStringsHaveTheirLengthsBefore) {
  const Tensor tensor = Tensor::of_strings({1, 3}, kThreeTexts);
  EXPECT_EQ(encoded_bytes(tensor), 16);
  EXPECT_GE(held_bytes(tensor), 16 + 3 * 16);
  EXPECT_EQ(core::as_text(encoded(tensor).bytes()), kThree);
  std::string appended = "x";
  append_encoded(appended, tensor);
  EXPECT_EQ(appended, "x" + std::string(kThree));
  const auto read = of_text(tensor.type(), kThree);
  EXPECT_EQ(texts(read), kThreeTexts);
  EXPECT_EQ(read->type(), tensor.type());
}

TEST(Elements, OfNumbersAreThemselves) {
  const std::vector<std::int32_t> values = {1, -1};
  const Tensor tensor = Tensor::of<std::int32_t>({2}, values);
  EXPECT_EQ(encoded(tensor).place(), tensor.place());
  EXPECT_EQ(encoded_bytes(tensor), 8);
  EXPECT_EQ(held_bytes(tensor), 8);
  const auto owner = std::make_shared<const core::Bytes>(core::Bytes{0, 1, 0, 0, 0, 2, 0, 0, 0});
  const auto read = decoded({DType::kInt32, {2}}, core::ByteView(*owner).subspan(1), owner);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->data<std::int32_t>()[1], 2);
  EXPECT_EQ(decoded({DType::kInt32, {2}}, *owner, owner).error().message,
            "9 bytes, expected 8 for int32[2]");
  EXPECT_FALSE(of_text({DType::kBool, {1}}, "\x02"));
}

TEST(Elements, KeepWhatTheyAreMadeOf) {
  auto owner = std::make_shared<const std::string>(kThree);
  const std::weak_ptr<const std::string> weak = owner;
  auto read = decoded({DType::kString, {3}}, core::as_bytes(*owner), owner);
  owner.reset();
  EXPECT_EQ(texts(read), kThreeTexts);
  read = Tensor();
  EXPECT_TRUE(weak.expired());
}

TEST(Elements, ThatAreCutOrTooManyAreRefused) {
  const TensorType three{DType::kString, {3}};
  for (std::size_t size = 0; size < kThree.size(); ++size) {
    EXPECT_FALSE(of_text(three, kThree.substr(0, size))) << size;
  }
  const std::string more = std::string(kThree) + std::string(4, '\0');
  EXPECT_EQ(texts(of_text(three, more)), Texts{"more strings, expected 3 for string[3]"});
  EXPECT_EQ(texts(of_text({DType::kString, {4}}, kThree)),
            Texts{"3 strings, expected 4 for string[4]"});
  EXPECT_FALSE(of_text({DType::kString, {1}}, std::string_view("\xff\xff\xff\xff\0\0\0\0", 8)));
  EXPECT_TRUE(of_text({DType::kString, {0, 7}}, ""));
}

// Whoever is told a shape allocates nothing for it.
TEST(Elements, OfAShapeThatIsNotThereTakeNoMemory) {
  for (const std::int64_t count : {limits::kStringsMadeMax + 1, std::int64_t{1} << 40}) {
    EXPECT_FALSE(of_text({DType::kString, {count}}, kThree));
  }
}

}  // namespace
}  // namespace commensal::tensor
