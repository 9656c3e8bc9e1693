// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Commensal as a library: load an ONNX model, look at it, run it. The same model and inputs give
/// the same output bits on every instruction set and number of threads (docs/numerics.md).
///
///   auto model = commensal::compute::Model::load("digits.onnx");
///   auto session = commensal::compute::Session::create(*model);
///   auto outputs = session->run({commensal::compute::view<float>({1, 1, 8, 8}, pixels)});
///   std::span<const float> logits = outputs->front().data<float>();
///
/// No exception leaves this library, but for lack of memory (std::bad_alloc). The same for other
/// languages: commensal/compute/session.h.
namespace commensal::compute {

enum class ErrorCode : std::int32_t {
  kInvalidArgument = 1,    // the model, an input or an option is not what was expected
  kNotFound = 2,           // no such file
  kPermissionDenied = 3,   // a file that may not be read
  kResourceExhausted = 4,  // the memory limit, or a bound on what is read
  kUnsupported = 5,        // an operator or type that this version does not know
  kInternal = 6,           // a bug of the library
};

/// `message` is one line that says what was expected.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

/// Ends the program after one line on standard error: what a caller should have looked at first.
[[noreturn]] void misuse(std::string_view what);

/// A T, or why there is none. Asking for the one that is not there is misuse().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return held_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &**this; }
  const Error& error() const {
    if (*this) misuse("a result was asked for its error, but has a value");
    return *std::get_if<1>(&held_);
  }

 private:
  T& value() {
    if (!*this) misuse(error().message);
    return *std::get_if<0>(&held_);
  }
  std::variant<T, Error> held_;
};

/// Element types; the numbers are those of ONNX.
enum class DType : std::int32_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,  // one byte, 0 or 1
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
  kFloat8E4M3Fn = 17,  // from here on one byte an element
  kFloat8E4M3FnUz = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FnUz = 20,
  kUint4 = 21,  // of the formats of 4 bits the high half of the byte is 0
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
};
/// "float32"; "undefined" for what is not in the list.
std::string_view name_of(DType dtype);
/// Bytes per element; 0 for kUndefined and what is not in the list.
std::size_t size_of(DType dtype);

/// The DType of a C++ type. Types that C++ lacks (float16, bfloat16) are given and read as bytes.
template <class T>
inline constexpr DType kDTypeOf = DType::kUndefined;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
inline constexpr DType kDTypeOf<std::int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::kUint8;
template <>
inline constexpr DType kDTypeOf<std::uint16_t> = DType::kUint16;
template <>
inline constexpr DType kDTypeOf<std::uint32_t> = DType::kUint32;
template <>
inline constexpr DType kDTypeOf<std::uint64_t> = DType::kUint64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;

/// An input: row-major elements in the caller's memory, aligned for their type. Session::run reads
/// them there; they must stay as they are until it returns, and no longer.
struct TensorView {
  DType dtype = DType::kUndefined;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};
template <class T>
TensorView view(std::vector<std::int64_t> shape, std::span<const T> elements) {
  static_assert(kDTypeOf<T> != DType::kUndefined, "no tensor has elements of this type");
  return {kDTypeOf<T>, std::move(shape), std::as_bytes(elements)};
}

/// An output: read-only elements that live as long as this or a copy of it, whatever becomes of
/// the session. Copying copies a pointer. Thread-safety: any thread.
class Tensor {
 public:
  DType dtype() const { return dtype_; }
  std::span<const std::int64_t> shape() const { return shape_; }
  /// Row-major, little-endian.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// T must be the element type: anything else is misuse().
  template <class T>
  std::span<const T> data() const {
    if (kDTypeOf<T> != dtype_) misuse("a tensor was read as something else than its type");
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  /// To be the input of another run.
  TensorView view() const { return {dtype_, shape_, bytes_}; }

 private:
  friend class Session;
  DType dtype_ = DType::kUndefined;
  std::vector<std::int64_t> shape_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

/// What a model declares of an input or output.
struct Port {
  std::string name;
  DType dtype = DType::kUndefined;  // kUndefined: the model does not say, or it is no such tensor
  /// Absent where not even the rank is declared; -1: free.
  std::optional<std::vector<std::int64_t>> shape;
  std::vector<std::string> symbols;  // the names of free dimensions, "" where there is none
  std::string text;                  // "float32[-1,1,8,8]"
};

/// A model that was read and checked. Copying copies a pointer. Thread-safety: any thread.
class Model {
 public:
  /// Reads an ONNX file; external data must lie in its folder.
  static Result<Model> load(const std::string& path);
  /// From memory, which may be read for as long as the model or a session of it lives: `owner`, if
  /// given, is kept until then.
  static Result<Model> parse(std::span<const std::byte> onnx,
                             std::shared_ptr<const void> owner = nullptr);

  const std::string& name() const;
  std::span<const Port> inputs() const;
  std::span<const Port> outputs() const;
  std::size_t node_count() const;
  std::size_t parameter_count() const;
  /// Empty where requests may be joined along axis 0 and their outputs cut apart again, without a
  /// changed bit; else one line that names the node which mixes them.
  const std::string& batching_objection() const;

 private:
  friend class Session;
  struct State;
  explicit Model(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// None of these changes a bit of any output.
struct SessionOptions {
  int threads = 1;
  std::int64_t memory_bytes_max = std::int64_t{4} << 30;  // for values; weights are the model's
  bool reference = false;  // the plain loops that define the bits: slow, for comparison
};

/// A model made ready to run: weights packed, threads started.
/// Thread-safety: one run() at a time; several sessions of one model run side by side.
class Session {
 public:
  static Result<Session> create(const Model& model, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// `inputs` in the order of Model::inputs(); the outputs come in the order of Model::outputs().
  Result<std::vector<Tensor>> run(std::span<const TensorView> inputs);
  Result<std::vector<Tensor>> run(std::initializer_list<TensorView> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Of the library, "0.1.0".
std::string_view version();
/// Of docs/numerics.md: as long as it stays the same, so do all bits.
int numerics_version();

}  // namespace commensal::compute
