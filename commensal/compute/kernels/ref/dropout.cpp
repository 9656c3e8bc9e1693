// SPDX-License-Identifier: Apache-2.0
// Dropout. At inference it copies X, and the mask is true everywhere. In training element i stays
// where u(i) >= ratio: y = x * (1 / (1 - ratio)), else +0. u(i) is a function of the attribute
// `seed` (absent: 0) and i alone.
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/words.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

struct Dropout {
  using In = Floats;
  DType dtype = DType::kUndefined;
  Shape shape;
  bool has_mask = false, trains = false;
  DType mask = DType::kBool;  // before opset 10 the type of X
  float ratio = 0.5f;
  Words words;

  static core::Result<Dropout> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    Dropout op;
    op.dtype = call.in(0).dtype();
    op.shape = call.in(0).shape();
    op.has_mask = call.output_count > 1;
    op.mask = call.opset < 10 ? op.dtype : DType::kBool;
    COMMENSAL_ASSIGN(op.trains, training(call));
    COMMENSAL_ASSIGN(op.ratio, ratio_of(call));
    if (op.trains && !(op.ratio >= 0 && op.ratio < 1)) {
      return fail(ErrorCode::kInvalidArgument, "the ratio must be in [0, 1), not {}", op.ratio);
    }
    COMMENSAL_ASSIGN(const std::int64_t seed, call.attributes->integer("seed", 0));
    const auto bits = static_cast<std::uint64_t>(seed);
    op.words = Words({static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)});
    return op;
  }
  // Before opset 7 an attribute says so, until 11 there is no training, then an input says so.
  static core::Result<bool> training(const Call& call) {
    if (call.opset < 7) {
      COMMENSAL_ASSIGN(const std::int64_t is_test, call.attributes->integer("is_test", 0));
      return is_test == 0;
    }
    if (!call.has(2)) return false;
    COMMENSAL_TRY(shape_inference::check_dtype<Types<bool>>(call, 2));
    if (call.in(2).elements() == 1) return bool{paced<bool>(call, 2)[0]};
    return fail(ErrorCode::kInvalidArgument, "input 2 must be a scalar, not {}",
                call.in(2).shape().text());
  }
  static core::Result<float> ratio_of(const Call& call) {
    if (call.opset < 12) return call.attributes->real("ratio", 0.5f);
    if (!call.has(1)) return 0.5f;
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 1));
    if (call.in(1).elements() == 1) {
      return visit(In{}, call.in(1).dtype(),
                   [&]<class R>() { return static_cast<float>(load(paced<R>(call, 1)[0])); });
    }
    return fail(ErrorCode::kInvalidArgument, "input 1 must be a scalar, not {}",
                call.in(1).shape().text());
  }
  std::vector<TensorType> types() const {
    std::vector<TensorType> made = {{dtype, shape}};
    if (has_mask) made.push_back({mask, shape});
    return made;
  }

  bool keeps(std::int64_t index) const {
    return !trains || words.unit(static_cast<std::uint64_t>(index)) >= ratio;
  }
  template <class T>
  Scalar value(const Call& call, int output, std::int64_t index) const {
    const bool kept = keeps(index);
    if (output == 1) {
      return mask == DType::kBool ? scalar_of(kept)
                                  : scalar_of(store<T>(static_cast<Compute<T>>(kept ? 1 : 0)));
    }
    const T x = paced<T>(call, 0)[static_cast<std::size_t>(index)];
    if (!trains) return scalar_of(x);
    const float scale = 1 / (1 - ratio);
    return scalar_of(store<T>(kept ? load(x) * static_cast<Compute<T>>(scale) : Compute<T>{0}));
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    if (output == 0 && keeps(index)) out.push_back({0, index});
    read_whole(call, 1, out);
    read_whole(call, 2, out);
  }
};

}  // namespace

constinit const Judge kDropout = each<Dropout>();

}  // namespace commensal::kernels::ref
