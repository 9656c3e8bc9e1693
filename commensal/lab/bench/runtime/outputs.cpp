// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>
#include <commensal/lab/bench/runtime/outputs.hpp>

namespace commensal::lab::bench {

using core::Result;
using tensor::DType;
using tensor::Tensor;

namespace {

constexpr double kSmallest = 1e-7;

double value_of(float x) { return x; }
double value_of(double x) { return x; }
double value_of(tensor::Float16 x) { return tensor::to_float(x); }

template <class T>
std::string difference(const Tensor& ours, const Tensor& theirs, double of_largest) {
  const auto a = ours.data<T>(), b = theirs.data<T>();
  double largest = 0, most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = value_of(a[i]), y = value_of(b[i]);
    if (std::isnan(x) != std::isnan(y)) return "one is not a number";
    if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
    if (x == y || std::isnan(x)) continue;
    if (std::isinf(x) || std::isinf(y)) return "one is infinite";
    most = std::max(most, std::abs(x - y));
  }
  if (most <= of_largest * largest + kSmallest) return "";
  return fmt::format("differ by {} of {}", most, largest);
}

std::string difference(const Tensor& ours, const Tensor& theirs, double of_largest) {
  if (ours.dtype() == DType::kFloat32) return difference<float>(ours, theirs, of_largest);
  if (ours.dtype() == DType::kFloat64) return difference<double>(ours, theirs, of_largest);
  if (ours.dtype() == DType::kFloat16) return difference<tensor::Float16>(ours, theirs, of_largest);
  const auto equal = std::ranges::mismatch(ours.bytes(), theirs.bytes());
  if (equal.in1 == ours.bytes().end()) return "";
  return fmt::format("differ at byte {}", equal.in1 - ours.bytes().begin());
}

}  // namespace

Result<std::string> difference_of(Pair& pair, const core::Path& folder, double of_largest) {
  COMMENSAL_ASSIGN(const auto ours, pair.ours.outputs(folder));
  COMMENSAL_ASSIGN(const auto theirs, pair.theirs.outputs(folder));
  if (ours.size() != theirs.size()) return "other outputs";
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].dtype != theirs[i].dtype || ours[i].shape != theirs[i].shape)
      return fmt::format("output {} is of another type", i);
    COMMENSAL_ASSIGN(const Tensor a, read_input(ours[i]));
    COMMENSAL_ASSIGN(const Tensor b, read_input(theirs[i]));
    if (const std::string found = difference(a, b, of_largest); !found.empty())
      return fmt::format("output {}: {}", i, found);
  }
  return "";
}

}  // namespace commensal::lab::bench
