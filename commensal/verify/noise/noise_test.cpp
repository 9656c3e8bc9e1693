// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/chacha20.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace commensal::noise {
namespace {

using core::Digest;
using tensor::DType;
using tensor::Tensor;

// Made by tests/vectors/noise/generate.py, an implementation of its own.
nlohmann::json vectors() {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/noise/noise.json");
  return nlohmann::json::parse(file);
}

Digest digest(const nlohmann::json& text) {
  return *core::digest_from_hex(text.get<std::string>());
}

DType dtype_of(const std::string& name) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    if (tensor::traits(dtype).name == name) return dtype;
  }
  ADD_FAILURE() << name;
  return DType::kUndefined;
}

/// Elements from their bits in hexadecimal, most significant digit first.
Tensor elements(DType dtype, const nlohmann::json& bits) {
  core::Bytes bytes;
  for (const auto& item : bits) {
    const core::Bytes element = *core::from_hex(item.get<std::string>());
    bytes.insert(bytes.end(), element.rbegin(), element.rend());
  }
  return Tensor::copy_of({dtype, {static_cast<std::int64_t>(bits.size())}}, bytes);
}

TEST(NoiseVectors, SumsOfEveryFormat) {
  const auto vector = vectors();
  const Digest seed = digest(vector["seeds"]["1"]);
  ASSERT_EQ(vector["cases"].size(), 32u);
  for (const auto& one : vector["cases"]) {
    const DType dtype = dtype_of(one["dtype"]);
    const auto sum = add(elements(dtype, one["x"]), seed, one["tensor"], one["exponent"]);
    ASSERT_TRUE(sum);
    EXPECT_EQ(core::to_hex(sum->bytes()), core::to_hex(elements(dtype, one["sum"]).bytes())) << one;
  }
}

TEST(NoiseVectors, LongerThanOnePiece) {
  const auto vector = vectors();
  const auto& zeros = vector["zeros"];
  const std::vector<float> nothing(zeros["elements"].get<std::size_t>());
  const auto sum = add(Tensor::of<float>({50, 100}, nothing), digest(vector["seeds"]["1"]),
                       zeros["tensor"], zeros["exponent"]);
  ASSERT_TRUE(sum);
  EXPECT_EQ(core::to_hex(crypto::sha256(sum->bytes())), zeros["sha256"]);
}

TEST(Noise, UnitsCoverTheirRange) {
  EXPECT_EQ(unit_of(0u), -1.0f);
  EXPECT_EQ(unit_of(0xffu), -1.0f);
  EXPECT_EQ(unit_of(0x80000000u), 0.0f);
  EXPECT_EQ(unit_of(0xffffffffu), 1.0f - 0x1p-23f);
  EXPECT_EQ(unit_of(0u, 0u), -1.0);
  EXPECT_EQ(unit_of(0xffffffffu, 0xffffffffu), 1.0 - 0x1p-52);
}

TEST(Noise, IsUniform) {
  const std::vector<float> nothing(1 << 16);
  const auto sum = add(Tensor::of<float>({1 << 16}, nothing), Digest{3}, 0, 0);
  ASSERT_TRUE(sum);
  double mean = 0, square = 0;
  for (const float u : sum->data<float>()) {
    mean += u;
    square += double{u} * u;
  }
  // Of 2^16 uniform numbers: deviations 0.0023 and 0.0012; five of them.
  EXPECT_NEAR(mean / (1 << 16), 0, 0.0113);
  EXPECT_NEAR(square / (1 << 16), 1.0 / 3, 0.0058);
}

TEST(Noise, DependsOnSeedTensorAndScale) {
  const std::vector<float> nothing(64);
  const Tensor zero = Tensor::of<float>({64}, nothing);
  const auto hash = [&](const Digest& seed, std::uint32_t tensor_id, int exponent) {
    return crypto::sha256(add(zero, seed, tensor_id, exponent)->bytes());
  };
  EXPECT_EQ(hash({1}, 0, 3), hash({1}, 0, 3));
  EXPECT_NE(hash({1}, 0, 3), hash({2}, 0, 3));
  EXPECT_NE(hash({1}, 0, 3), hash({1}, 1, 3));
  EXPECT_NE(hash({1}, 0, 3), hash({1}, 0, 4));
}

TEST(Noise, RefusesWhatIsNotFloating) {
  const std::vector<std::int64_t> letters = {1, 2};
  const auto sum = add(Tensor::of<std::int64_t>({2}, letters), {}, 0, 0);
  ASSERT_FALSE(sum);
  EXPECT_EQ(sum.error().message, "noise goes onto floating-point tensors, not onto int64[2]");
}

}  // namespace
}  // namespace commensal::noise
