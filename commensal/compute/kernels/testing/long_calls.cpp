// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/compute/kernels/testing/long_calls.hpp>
#include <cstring>
#include <functional>

namespace commensal::kernels::testing {
namespace {

constexpr std::int64_t kBytesMax = std::int64_t{1} << 27;
constexpr std::int64_t kTextsMax = std::int64_t{1} << 20;
constexpr std::int64_t kFactorMax = std::int64_t{1} << 26;

/// `from`, `factor` times one after the other along an axis; nothing where it has no such axis.
Tensor repeated(const Tensor& from, int axis, std::int64_t factor) {
  const tensor::Shape& shape = from.shape();
  std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<std::size_t>(axis)] *= factor;
  const auto made = tensor::Shape::of(dims);
  const bool is_text = from.dtype() == tensor::DType::kString;
  if (!made || made->elements() > (is_text ? kTextsMax : kBytesMax)) return {};
  const std::int64_t outer = shape.elements(0, axis), inner = shape.elements(axis, shape.rank());
  if (is_text) {
    std::vector<std::string> all;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < factor * inner; ++i) {
        all.emplace_back(from.strings()[static_cast<std::size_t>(o * inner + i % inner)]);
      }
    }
    return Tensor::of_strings(*made, all);
  }
  const tensor::TensorType type{from.dtype(), *made};
  core::Bytes bytes;
  bytes.reserve(static_cast<std::size_t>(type.bytes()));
  const auto row = static_cast<std::size_t>(inner * tensor::traits(from.dtype()).size);
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto part = from.bytes().subspan(static_cast<std::size_t>(o) * row, row);
    for (std::int64_t i = 0; i < factor; ++i) bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return Tensor::copy_of(type, bytes);
}

/// One way: false where it does not lead to another sample.
using Way = std::function<bool(Sample&, std::int64_t factor)>;
struct Named {
  std::string name;
  Way way;
};

bool repeat(Tensor& input, int axis, std::int64_t factor) {
  const int rank = input.defined() ? input.shape().rank() : 0;
  const int at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank || input.elements() == 0) return false;
  input = repeated(input, at, factor);
  return input.defined();
}

bool multiply(Tensor& input, std::int64_t factor) {
  if (!input.defined() || input.dtype() != tensor::DType::kInt64) return false;
  std::vector<std::int64_t> values(input.data<std::int64_t>().begin(),
                                   input.data<std::int64_t>().end());
  for (std::int64_t& value : values) value = value > 0 ? value * factor : value;
  input = Tensor::of<std::int64_t>(input.shape(), values);
  return true;
}

std::vector<Named> ways_of(const Sample& sample) {
  std::vector<Named> ways;
  const std::size_t count = sample.inputs.size();
  for (const int axis : {0, -1, 1, 2}) {
    ways.push_back({fmt::format("all inputs along {}", axis), [=](Sample& made, std::int64_t f) {
                      bool any = false;
                      for (Tensor& input : made.inputs) any |= repeat(input, axis, f);
                      return any;
                    }});
    for (std::size_t i = 0; i < count; ++i) {
      ways.push_back({fmt::format("input {} along {}", i, axis), [=](Sample& made, std::int64_t f) {
                        return repeat(made.inputs[i], axis, f);
                      }});
      for (std::size_t k = i + 1; k < std::min<std::size_t>(count, 3); ++k) {
        ways.push_back({fmt::format("inputs {} and {} along {}", i, k, axis),
                        [=](Sample& made, std::int64_t f) {
                          return repeat(made.inputs[i], axis, f) && repeat(made.inputs[k], axis, f);
                        }});
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    ways.push_back({fmt::format("values of input {}", i),
                    [=](Sample& made, std::int64_t f) { return multiply(made.inputs[i], f); }});
  }
  return ways;
}

std::int64_t bytes_of(std::span<const TensorType> types) {
  std::int64_t sum = 0;
  for (const TensorType& type : types) sum += type.bytes();
  return sum;
}

}  // namespace

LongCall::LongCall(Sample sample, By by, std::string how)
    : call_(std::make_shared<SampleCall>(std::move(sample))), by_(by), how_(std::move(how)) {}

std::string LongCall::text() const {
  std::string text = fmt::format("{} at opset {}, {}, {}:", call_->sample().name,
                                 call_->sample().opset, by_ == By::kRef ? "ref/" : "cpu/", how_);
  for (const Tensor& input : call_->sample().inputs)
    text += fmt::format(" {}", input.type().text());
  return text;
}

std::int64_t LongCall::bytes() const {
  std::int64_t sum = 0;
  for (const Tensor& input : call_->sample().inputs) {
    if (input.defined()) sum += input.type().bytes();
  }
  return sum;
}

bool LongCall::run(ThreadPool& threads) const {
  Call& call = call_->call();
  call.pulse = Pulse(&threads);
  if (!call_->infer() || bytes_of(call.outputs) > kBytesMax) return false;
  tensor::Arena arena(8 * kBytesMax);
  const bool fast = by_ == By::kCpu;
  const Isa isa = fast ? available_isas().back() : Isa::kAvx2;
  std::shared_ptr<const Packed> packed;
  if (fast && call_->op().pack != nullptr) {
    auto made = call_->op().pack(call, isa);
    if (!made) return false;
    packed = *std::move(made);
  }
  auto outputs = allocate_outputs(call, arena);
  if (!outputs) return false;
  Workspace workspace{arena, threads, isa, packed.get()};
  return (fast ? call_->op().fast() : call_->op().judge->run)(call, *outputs, workspace)
      .has_value();
}

std::vector<LongCall> long_calls(const Sample& sample, LongCall::By by, double ms,
                                 std::size_t most) {
  std::vector<LongCall> made;
  ThreadPool threads(1);
  for (const Named& named : ways_of(sample)) {
    if (made.size() == most) break;
    for (std::int64_t factor = 2; factor <= kFactorMax; factor *= 4) {
      Sample larger = sample;
      if (!named.way(larger, factor)) break;
      LongCall call(std::move(larger), by, fmt::format("{} times {}", named.name, factor));
      if (call.bytes() > kBytesMax) break;
      const std::int64_t begin_ns = core::thread_cpu_ns();
      if (!call.run(threads)) break;
      const double took_ms = static_cast<double>(core::thread_cpu_ns() - begin_ns) * 1e-6;
      if (took_ms < ms) continue;
      made.push_back(std::move(call));
      break;
    }
  }
  return made;
}

}  // namespace commensal::kernels::testing
