// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/train/data.hpp>
#include <numeric>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

bool is_finite(const Tensor& tensor) {
  const auto all = [](auto values) {
    return std::ranges::all_of(values, [](auto value) { return std::isfinite(value); });
  };
  if (tensor.dtype() == DType::kFloat32) return all(tensor.data<float>());
  if (tensor.dtype() == DType::kFloat64) return all(tensor.data<double>());
  const auto narrow = [](auto values) {
    return std::ranges::all_of(values,
                               [](auto value) { return std::isfinite(tensor::to_float(value)); });
  };
  if (tensor.dtype() == DType::kFloat16) return narrow(tensor.data<tensor::Float16>());
  if (tensor.dtype() == DType::kBfloat16) return narrow(tensor.data<tensor::Bfloat16>());
  return true;
}

std::vector<std::int64_t> without_ones(std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> made(dims.begin(), dims.end());
  std::erase(made, 1);
  return made;
}

Result<Tensor> read_idx(core::ByteView bytes) {
  const auto word = [&](std::size_t at) {
    return std::int64_t{bytes[at]} << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
  };
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0 || bytes[2] != 8 || bytes[3] == 0 ||
      bytes[3] > 4 || bytes.size() < 4 + 4 * std::size_t{bytes[3]}) {
    return fail(ErrorCode::kInvalidArgument,
                "neither .npy, .npz nor an IDX file of bytes in 1 to 4 dimensions");
  }
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < bytes[3]; ++d) dims.push_back(word(4 + 4 * d));
  COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
  const core::ByteView elements = bytes.subspan(4 + 4 * dims.size());
  if (static_cast<std::int64_t>(elements.size()) != shape.elements()) {
    return fail(ErrorCode::kInvalidArgument, "an IDX file of {} has {} elements, expected {}",
                shape.text(), elements.size(), shape.elements());
  }
  return Tensor::copy_of({DType::kUint8, shape}, elements);
}

namespace {

Result<Tensor> read_any(const Source& source) {
  if (!source.member.empty()) return io::read_npz_file(source.file, source.member);
  if (source.file.extension() == ".npy") return io::read_npy_file(source.file);
  COMMENSAL_ASSIGN(const auto bytes, core::read_file(source.file));
  return read_idx(bytes);
}

/// double -> T, rounded or cut as Cast has it for what data is made of.
template <class T>
void convert_all(const Tensor& from, double scale, std::vector<T>& into) {
  tensor::with_type(from.dtype(), [&]<class F> {
    if constexpr (std::is_arithmetic_v<F>) {
      for (const F value : from.data<F>()) {
        into.push_back(scale == 1 ? static_cast<T>(value)
                                  : static_cast<T>(static_cast<double>(value) * scale));
      }
    }
  });
}

}  // namespace

Result<Tensor> read_source(const Source& source) {
  auto made = read_any(source);
  if (!made) return core::in_context(source.file.string(), made.error());
  if (made->shape().rank() == 0 || made->shape()[0] == 0) {
    return fail(ErrorCode::kInvalidArgument, "{}: {} has no samples, expected [samples, ...]",
                source.file.string(), made->type().text());
  }
  return made;
}

Result<Tensor> prepared(const Tensor& samples, double scale, DType dtype,
                        const std::vector<std::int64_t>& sample) {
  std::vector<std::int64_t> dims = {samples.shape()[0]};
  dims.insert(dims.end(), sample.begin(), sample.end());
  if (without_ones(samples.shape().dims().subspan(1)) != without_ones(sample)) {
    return fail(ErrorCode::kInvalidArgument, "the data is {}, expected samples of {}",
                samples.type().text(), Shape::of(sample)->text());
  }
  COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
  if (samples.dtype() == dtype && scale == 1) return samples.reshaped(shape);
  Tensor made;
  const auto make = [&]<class T>() {
    std::vector<T> values;
    values.reserve(static_cast<std::size_t>(shape.elements()));
    convert_all<T>(samples, scale, values);
    if (static_cast<std::int64_t>(values.size()) == shape.elements())
      made = Tensor::of<T>(shape, values);
  };
  if (dtype == DType::kFloat32) make.template operator()<float>();
  if (dtype == DType::kFloat64) make.template operator()<double>();
  const bool is_whole = samples.dtype() != DType::kFloat32 && samples.dtype() != DType::kFloat64;
  if (dtype == DType::kInt64 && scale == 1 && is_whole) make.template operator()<std::int64_t>();
  if (made.defined()) return made;
  return fail(ErrorCode::kInvalidArgument, "data of {} cannot serve as {}",
              tensor::traits(samples.dtype()).name, tensor::traits(dtype).name);
}

Order::Order(std::uint64_t seed, std::int64_t samples, std::int64_t batch)
    : seed_(seed), samples_(samples), batch_(batch) {
  core::check(batch >= 1 && batch <= samples, "a batch has samples, no more than there are");
}

void Order::shuffle(std::int64_t epoch) {
  epoch_ = epoch;
  all_.resize(static_cast<std::size_t>(samples_));
  std::iota(all_.begin(), all_.end(), 0);
  core::CounterRng rng(seed_, static_cast<std::uint64_t>(epoch));
  // Fisher, Yates: the last of those left changes places with any of them.
  for (std::uint64_t left = all_.size(); left > 1; --left)
    std::swap(all_[left - 1], all_[rng.next_u64() % left]);
}

const std::vector<std::int64_t>& Order::of_step(std::int64_t t) {
  const std::int64_t batches = samples_ / batch_;
  if (t / batches != epoch_) shuffle(t / batches);
  const auto first = all_.begin() + t % batches * batch_;
  batch_now_.assign(first, first + batch_);
  return batch_now_;
}

Tensor gathered(const Tensor& samples, const std::vector<std::int64_t>& which) {
  std::vector<std::int64_t> dims(samples.shape().dims().begin(), samples.shape().dims().end());
  const auto each = samples.bytes().size() / static_cast<std::size_t>(dims[0]);
  dims[0] = static_cast<std::int64_t>(which.size());
  core::Bytes bytes;
  bytes.reserve(which.size() * each);
  for (const std::int64_t sample : which) {
    const auto from = samples.bytes().subspan(static_cast<std::size_t>(sample) * each, each);
    bytes.insert(bytes.end(), from.begin(), from.end());
  }
  return Tensor::copy_of({samples.dtype(), *Shape::of(dims)}, bytes);
}

}  // namespace commensal::train
