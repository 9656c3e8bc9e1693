// SPDX-License-Identifier: Apache-2.0
// DFT and STFT: X_k = sum of x_j * w(j k mod n) over j, w(m) = cos(2 pi m / n) -+ i sin(...), as
// one chain for each part: fma(re x_j, re w, acc), then, if x is complex, fma(-+ im x_j, im w,
// acc). The factors come from math/turns.hpp. The inverse is divided by n at the end.
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/fourier.hpp>
#include <memory>
#include <mutex>

namespace commensal::kernels::ref {
namespace {

using math::Turned;

struct Spectrum : shape_inference::Transform {
  /// Made by who computes first: who only asks for shapes does not pay for millions of them.
  struct Factors {
    std::once_flag made;
    std::vector<Turned> all;
  };
  std::shared_ptr<Factors> factors = std::make_shared<Factors>();

  // The chain of one part of bin k; part(j, p) is part p of input j.
  template <class Part>
  float chain(const Call& call, std::int64_t k, bool imaginary, Part part,
              std::int64_t left) const {
    std::call_once(factors->made, [&] { factors->all = factors_of(*this, call.pulse); });
    float acc = 0;
    for (std::int64_t j = 0; j < terms; ++j) {
      const Turned& w = factors->all[static_cast<std::size_t>(j * k % n)];
      if (left-- <= 0) return acc;
      acc = std::fma(part(j, 0), imaginary ? w.sin : w.cos, acc);
      if (!complex) continue;
      if (left-- <= 0) return acc;
      const float x = part(j, 1);
      acc = imaginary ? std::fma(x, w.cos, acc) : std::fma(-x, w.sin, acc);
    }
    return acc;
  }
  std::int64_t bytes() const { return 256 + n * static_cast<std::int64_t>(sizeof(Turned)); }
  float finish(float acc) const { return (inverse ? acc / static_cast<float>(n) : acc) + 0.0f; }
};

struct Dft : shape_inference::Dft {
  using In = Floats32;
  Spectrum spectrum;

  static core::Result<Dft> make(const Call& call) {
    COMMENSAL_ASSIGN(const shape_inference::Dft parsed, shape_inference::dft_of(call));
    return Dft{parsed, {parsed.transform}};
  }
  std::vector<TensorType> types() const { return {{dtype, to}}; }
  std::int64_t bytes() const { return spectrum.bytes(); }

  // Where part `part` of term j of the line of output `index` lies.
  std::int64_t source(std::int64_t index, std::int64_t j, std::int64_t part) const {
    const std::int64_t parts = transform.parts();
    const std::int64_t inner = to_view.inner(index) / 2 * parts + part;
    return from_view.position(to_view.outer(index), j, inner);
  }
  template <class T>
  float chain(const Call& call, std::int64_t index, std::int64_t steps) const {
    const auto x = paced<T>(call, 0);
    const auto part = [&](std::int64_t j, std::int64_t p) {
      return load(x[static_cast<std::size_t>(source(index, j, p))]);
    };
    return spectrum.chain(call, to_view.along(index), index % 2 == 1, part, steps);
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    return scalar_of(store<T>(spectrum.finish(chain<T>(call, index, transform.steps()))));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t j = 0; j < transform.terms; ++j) {
      out.push_back({0, source(index, j, 0)});
      if (transform.complex) out.push_back({0, source(index, j, 1)});
    }
    read_whole(call, 1, out);
    read_whole(call, 2, out);
  }
  std::int64_t steps(int, std::int64_t) const { return transform.steps(); }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return scalar_of(store<float>(chain<T>(call, index, steps)));
  }
};

// Each element of a frame is multiplied by the window and rounded first.
struct Stft : shape_inference::Stft {
  using In = Floats32;
  Spectrum spectrum;

  static core::Result<Stft> make(const Call& call) {
    COMMENSAL_ASSIGN(const shape_inference::Stft parsed, shape_inference::stft_of(call));
    return Stft{parsed, {parsed.transform}};
  }
  std::vector<TensorType> types() const { return {{dtype, to}}; }
  std::int64_t bytes() const { return spectrum.bytes(); }

  std::int64_t source(std::int64_t index, std::int64_t j, std::int64_t part) const {
    const std::int64_t parts = transform.parts();
    const std::int64_t row = index / 2 / transform.bins;
    const std::int64_t at = row / frames * length + row % frames * step + j;
    return at * parts + part;
  }
  template <class T>
  float chain(const Call& call, std::int64_t index, std::int64_t steps) const {
    const auto x = paced<T>(call, 0);
    const auto part = [&](std::int64_t j, std::int64_t p) {
      const float one = load(x[static_cast<std::size_t>(source(index, j, p))]);
      return call.has(2) ? one * load(paced<T>(call, 2)[static_cast<std::size_t>(j)]) : one;
    };
    return spectrum.chain(call, index / 2 % transform.bins, index % 2 == 1, part, steps);
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    return scalar_of(store<T>(spectrum.finish(chain<T>(call, index, transform.steps()))));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t j = 0; j < transform.n; ++j) {
      out.push_back({0, source(index, j, 0)});
      if (transform.complex) out.push_back({0, source(index, j, 1)});
    }
    for (int i = 1; i <= 3; ++i) read_whole(call, i, out);
  }
  std::int64_t steps(int, std::int64_t) const { return transform.steps(); }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return scalar_of(store<float>(chain<T>(call, index, steps)));
  }
};

}  // namespace

constinit const Judge kDft = each<Dft>();
constinit const Judge kStft = each<Stft>();

}  // namespace commensal::kernels::ref
