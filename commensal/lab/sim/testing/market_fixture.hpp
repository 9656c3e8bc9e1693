// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/lab/sim/testing/market.hpp>

/// For tests of a market: the digit network and pictures for it.
namespace commensal::sim::testing {

inline const core::Path kDigits = core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx";

inline core::Path scratch(std::string_view name) {
  return core::Path(::testing::TempDir()) / fmt::format("market-{}-{}", name, ::getpid());
}

/// Picture number i, from the counter-based generator.
inline tensor::NamedTensors picture(std::uint64_t i) {
  std::vector<float> pixels;
  for (std::uint64_t k = 0; k < 64; ++k) {
    pixels.push_back(8.0f + 8.0f * core::counter_symmetric_f32(99, i, k));
  }
  return {{"image", tensor::Tensor::of<float>({1, 1, 8, 8}, pixels)}};
}

inline core::Bytes digits() { return *core::read_file(kDigits); }

}  // namespace commensal::sim::testing
