// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What the kernels can be asked for: plain numbers and pointers into the device's memory, so that
/// a plug-in needs nothing else of ours. All elements are binary32, all arrays row-major.
namespace commensal::kernels::cuda {

struct Queue;

/// Products of matrices. Product i of the batch reads A at a + offsets[i] and B at
/// b + offsets[batch + i] and writes Y [rows, columns] at y + offsets[2 batch + i].
struct ProductTask {
  const float* a = nullptr;
  std::int64_t a_row_step = 0, a_step = 1;  // along the rows of Y, along k
  const float* b = nullptr;
  std::int64_t b_step = 0, b_column_step = 1;
  float* y = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t batch = 1, rows = 0, columns = 0, depth = 0;
  bool ends = true;  // false: y is the accumulator itself; true: alpha, then beta C is added
  float alpha = 1, beta = 1;
  const float* c = nullptr;  // or null
  std::int64_t c_row_step = 0, c_column_step = 0;
};

/// Conv in its direct order, of at most 3 spatial dimensions (fewer: the first ones are 1).
struct ConvTask {
  const float *x = nullptr, *w = nullptr, *bias = nullptr;  // bias: or null
  float* y = nullptr;
  std::int64_t batch = 0, groups = 0, channels = 0, rows = 0;  // channels, rows: of one group
  std::int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
};

/// Conv by the Winograd clause; points = (tile + 2)^2, tiles = batch * tiles_down * tiles_across.
struct WinogradTask {
  int tile = 4;                                             // or 2
  const float *x = nullptr, *w = nullptr, *bias = nullptr;  // bias: or null
  float* filters = nullptr;                                 // [points, out_channels, channels]
  float* inputs = nullptr;                                  // [points, channels, tiles]
  float* sums = nullptr;                                    // [points, out_channels, tiles]
  float* y = nullptr;
  std::int64_t batch = 0, channels = 0, out_channels = 0, tiles_down = 0, tiles_across = 0;
  std::int64_t in[2] = {}, out[2] = {}, pad[2] = {};
};

/// Softmax of rows of `length` elements that lie `step` apart: row r begins at
/// r / step * step * length + r % step.
struct SoftmaxTask {
  const float* x = nullptr;
  float* y = nullptr;
  std::int64_t rows = 0, length = 0, step = 1;
};

/// LayerNormalization and InstanceNormalization of groups of `size` neighbours. The parameters of
/// element i of group g are entry i, or if `channels` is not 0 entry g % channels.
struct NormTask {
  const float *x = nullptr, *scale = nullptr, *bias = nullptr;  // bias: or null
  float *y = nullptr, *mean = nullptr, *inverse = nullptr;      // mean, inverse: or null
  std::int64_t groups = 0, size = 0, channels = 0;
  float epsilon = 0;
};

enum class Function {
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCos,
  kCosh,
  kErf,
  kExp,
  kLeakyRelu,
  kLog,
  kRelu,
  kSigmoid,
  kSin,
  kSinh,
  kSoftplus,
  kSqrt,
  kTan,
  kTanh,
};
struct UnaryTask {
  Function function = Function::kExp;
  float alpha = 0;  // of LeakyRelu
  const float* x = nullptr;
  float* y = nullptr;
  std::int64_t count = 0;
};

enum class Pairing { kAdd, kDiv, kMax, kMin, kMul, kPow, kSub };
/// Broadcast: element i of y has coordinates in `dims`, and lies in a and b by their strides.
struct BinaryTask {
  static constexpr int kRankMax = 16;
  Pairing pairing = Pairing::kAdd;
  const float *a = nullptr, *b = nullptr;
  float* y = nullptr;
  std::int64_t count = 0;
  int rank = 0;
  std::int64_t dims[kRankMax] = {}, a_stride[kRankMax] = {}, b_stride[kRankMax] = {};
};

// Each appends to the queue, whose errors show when it is waited for.
void product(Queue& queue, const ProductTask& task);
void conv(Queue& queue, const ConvTask& task);
void winograd_filters(Queue& queue, const WinogradTask& task);
void winograd_inputs(Queue& queue, const WinogradTask& task);
void winograd_outputs(Queue& queue, const WinogradTask& task);
void softmax(Queue& queue, const SoftmaxTask& task);
void normalise(Queue& queue, const NormTask& task);
void unary(Queue& queue, const UnaryTask& task);
void binary(Queue& queue, const BinaryTask& task);

/// What can be done with a device: all that Device (device.hpp) knows of it. The emulation and the
/// plug-in each fill one.
struct Driver {
  static constexpr int kVersion = 1;  // of this file; a plug-in of another one is refused
  int version = kVersion;

  Queue* (*open)(std::uint64_t seed);  // the seed is the emulation's
  void (*close)(Queue*);
  /// Waits for all that was appended; null if it went well, else the first error, owned by it.
  const char* (*error)(Queue*);
  const char* (*name)(Queue*);
  void* (*allocate)(Queue*, std::size_t bytes);  // null: there is not as much
  void (*release)(Queue*, void* memory);
  void (*upload)(Queue*, void* to, const void* from, std::size_t bytes);
  void (*download)(Queue*, void* to, const void* from, std::size_t bytes);

  void (*product)(Queue&, const ProductTask&) = cuda::product;
  void (*conv)(Queue&, const ConvTask&) = cuda::conv;
  void (*winograd_filters)(Queue&, const WinogradTask&) = cuda::winograd_filters;
  void (*winograd_inputs)(Queue&, const WinogradTask&) = cuda::winograd_inputs;
  void (*winograd_outputs)(Queue&, const WinogradTask&) = cuda::winograd_outputs;
  void (*softmax)(Queue&, const SoftmaxTask&) = cuda::softmax;
  void (*normalise)(Queue&, const NormTask&) = cuda::normalise;
  void (*unary)(Queue&, const UnaryTask&) = cuda::unary;
  void (*binary)(Queue&, const BinaryTask&) = cuda::binary;
};

/// The plug-in's one symbol, `extern "C" const Driver* commensal_cuda_driver()`.
inline constexpr const char* kDriverSymbol = "commensal_cuda_driver";

}  // namespace commensal::kernels::cuda
