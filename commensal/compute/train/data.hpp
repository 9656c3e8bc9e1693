// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::train {

/// Where one input's samples are: an array whose first dimension counts them.
struct Source {
  core::Path file;     // .npy, .npz or IDX (as MNIST has)
  std::string member;  // of an .npz
  double scale = 1;    // of numbers, before they are used
};

/// Errors: those of the readers, naming the file; kInvalidArgument (no samples).
core::Result<tensor::Tensor> read_source(const Source& source);

/// An array of bytes in the format of MNIST: two zero bytes, the type (8: bytes), the number of
/// dimensions, these as 32 bits big-endian, the elements.
core::Result<tensor::Tensor> read_idx(core::ByteView bytes);

/// The samples as elements of `dtype` (rounded as by Cast), times `scale`, each of dimensions
/// `sample`, where the file's may lack or have more dimensions of 1.
/// Error: kInvalidArgument, naming both shapes.
core::Result<tensor::Tensor> prepared(const tensor::Tensor& samples, double scale,
                                      tensor::DType dtype, const std::vector<std::int64_t>& sample);

/// Without those of 1.
std::vector<std::int64_t> without_ones(std::span<const std::int64_t> dims);

/// Whether all its numbers are.
bool is_finite(const tensor::Tensor& tensor);

/// The order of the samples, from a seed: epoch e goes by the permutation of stream e.
class Order {
 public:
  Order(std::uint64_t seed, std::int64_t samples, std::int64_t batch);
  /// The samples of step t, from 0. What an epoch has left over once full batches are taken is not
  /// used in it.
  const std::vector<std::int64_t>& of_step(std::int64_t t);

 private:
  void shuffle(std::int64_t epoch);

  const std::uint64_t seed_;
  const std::int64_t samples_, batch_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> all_, batch_now_;
};

/// Those samples, one after another.
tensor::Tensor gathered(const tensor::Tensor& samples, const std::vector<std::int64_t>& which);

}  // namespace commensal::train
