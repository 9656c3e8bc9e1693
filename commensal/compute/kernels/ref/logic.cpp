// SPDX-License-Identifier: Apache-2.0
// Comparison, logic, bits and choice.
#include <commensal/compute/kernels/math/functions.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/elementwise.hpp>

namespace commensal::kernels::ref {
namespace {

// Where 16-bit floats are among their kind: integers, of which compilers make vectors.
template <class T>
std::int16_t rank(T value) {
  const auto magnitude = static_cast<std::int16_t>(value.bits & 0x7fff);
  return static_cast<std::int16_t>(value.bits) < 0 ? -magnitude : magnitude;
}
template <class T>
bool is_number(T value) {
  constexpr std::uint16_t kInfinity = std::is_same_v<T, Float16> ? 0x7c00 : 0x7f80;
  return static_cast<std::int16_t>(value.bits & 0x7fff) <= kInfinity;
}

/// F: a struct with `using In` and `static bool of(x, y)`, false for NaN.
template <class F>
struct Test {
  using In = typename F::In;
  template <class T, class P>
  bool value(const Operands<T, P>& in) const {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      const T x = in.template stored<T>(0), y = in.template stored<T>(1);
      return F::of(rank(x), rank(y)) & is_number(x) & is_number(y);
    } else {
      return F::of(in(0), in(1));
    }
  }
};

struct And {
  using In = Types<bool>;
  static bool of(bool x, bool y) { return (x & y) != 0; }
};
struct Or {
  using In = Types<bool>;
  static bool of(bool x, bool y) { return (x | y) != 0; }
};
struct Xor {
  using In = Types<bool>;
  static bool of(bool x, bool y) { return x != y; }
};
struct Equal {
  using In = Everything;
  static bool of(auto x, auto y) { return x == y; }
};
struct Less {
  using In = Numbers;
  static bool of(auto x, auto y) { return x < y; }
};
struct LessOrEqual {
  using In = Numbers;
  static bool of(auto x, auto y) { return x <= y; }
};
struct Greater {
  using In = Numbers;
  static bool of(auto x, auto y) { return x > y; }
};
struct GreaterOrEqual {
  using In = Numbers;
  static bool of(auto x, auto y) { return x >= y; }
};

// Shifting by the width or more gives 0.
struct BitShift {
  using In = Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
  bool left = false;
  static core::Result<BitShift> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    COMMENSAL_ASSIGN(const std::string direction, call.attributes->text("direction", ""));
    if (direction == "LEFT" || direction == "RIGHT") return BitShift{direction == "LEFT"};
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "attribute 'direction' must be LEFT or RIGHT, not '{}'", direction);
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    const std::uint64_t x = in(0), by = in(1);
    if (by >= 8 * sizeof(T)) return 0;
    return static_cast<T>(left ? x << by : x >> by);
  }
};

// Copies the bits of input 1 or 2.
struct Where {
  using In = Everything;
  static constexpr int kTyped = 1;
  static constexpr bool kCopies = true;
  static core::Result<Where> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Types<bool>>(call, 0));
    if (call.in(1).dtype() == call.in(2).dtype()) return Where{};
    return core::fail(core::ErrorCode::kInvalidArgument, "inputs 1 and 2 must have one type");
  }
  template <class T, class P>
  T value(const Operands<T, P>& in) const {
    const T one = in.template stored<T>(1), other = in.template stored<T>(2);
    // As a byte, 0 or 1: of bool compilers make no vectors.
    return in.template stored<std::uint8_t>(0) != 0 ? one : other;
  }
};

// The exponent may be of another type. Floats: pow in the base's arithmetic, the exponent rounded
// to it.
// Integers by integers: repeated multiplication, wrapping; a negative exponent divides 1 by the
// power (so 0 unless the base is 1 or -1). Integers by floats: in binary32, then converted back.
struct Pow {
  using In = Types<float, double, Float16, Bfloat16, std::int32_t, std::int64_t>;
  static constexpr bool kByFunctions = true;
  DType exponent = DType::kUndefined;
  static core::Result<Pow> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Numbers>(call, 1));
    return Pow{call.in(1).dtype()};
  }
  template <class C>
  static C integer_power(C base, std::int64_t exponent) {
    const bool negative = exponent < 0;
    C power = 1, factor = base;
    for (auto left = negative ? 0 - static_cast<std::uint64_t>(exponent)
                              : static_cast<std::uint64_t>(exponent);
         left != 0; left >>= 1) {
      if ((left & 1) != 0) power = times(power, factor);
      factor = times(factor, factor);
    }
    if (!negative) return power;
    return base == 1 || base == C{-1} ? power : C{0};
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return visit(Numbers{}, exponent, [&]<class E>() -> Compute<T> {
      const auto y = load(in.template stored<E>(1));
      if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
        return integer_power(in(0), static_cast<std::int64_t>(y));
      } else {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        return convert<Compute<T>>(math::by_type::pow(static_cast<C>(in(0)), static_cast<C>(y)));
      }
    });
  }
};

}  // namespace

constinit const Judge kBitShift = elementwise<BitShift>();
constinit const Judge kEqual = elementwise<Test<Equal>>();
constinit const Judge kGreater = elementwise<Test<Greater>>();
constinit const Judge kGreaterOrEqual = elementwise<Test<GreaterOrEqual>>();
constinit const Judge kLess = elementwise<Test<Less>>();
constinit const Judge kLessOrEqual = elementwise<Test<LessOrEqual>>();
constinit const Judge kLogicalAnd = elementwise<Test<And>>();
constinit const Judge kLogicalOr = elementwise<Test<Or>>();
constinit const Judge kLogicalXor = elementwise<Test<Xor>>();
constinit const Judge kPow = elementwise<Pow>();
constinit const Judge kWhere = elementwise<Where>();

}  // namespace commensal::kernels::ref
