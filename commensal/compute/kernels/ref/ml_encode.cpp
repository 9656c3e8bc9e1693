// SPDX-License-Identifier: Apache-2.0
// LabelEncoder and CategoryMapper: each element is looked up in a list of keys, the first equal one
// counts. OneHotEncoder says where it was found by a one. ArrayFeatureExtractor picks columns.
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/ml.hpp>
#include <commensal/compute/kernels/ref/movement.hpp>
#include <unordered_map>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Mapped = Types<std::int64_t, float, std::int32_t, std::int16_t, double>;

// The bits of a number, all NaNs being one. (-0 is not +0.)
template <class T>
std::uint64_t key_bits(T value) {
  return scalar_of(store<T>(value)).bits;
}

// The places of keys, by number or by text.
class KeyIndex {
 public:
  KeyIndex(Pulse& pulse, const Tensor& keys) : keys_(keys) {
    std::int64_t at = 0;
    if (keys.dtype() == DType::kString) {
      for (const auto text : keys.strings()) {
        pulse(16);
        texts_.emplace(text, at++);
      }
      return;
    }
    visit(Mapped{}, keys.dtype(), [&]<class T>() {
      for (const T key : keys.data<T>()) {
        pulse(16);
        numbers_.emplace(key_bits(key), at++);
      }
    });
  }
  // -1: not there.
  std::int64_t find_text(std::string_view text) const {
    const auto found = texts_.find(text);
    return found == texts_.end() ? -1 : found->second;
  }
  std::int64_t find_number(std::uint64_t bits) const {
    const auto found = numbers_.find(bits);
    return found == numbers_.end() ? -1 : found->second;
  }
  std::int64_t find(const Tensor& in, std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    if (in.dtype() == DType::kString) return find_text(in.strings()[at]);
    return visit(Mapped{}, in.dtype(),
                 [&]<class T>() { return find_number(key_bits(in.data<T>()[at])); });
  }

 private:
  Tensor keys_;  // what texts_ refers to
  std::unordered_map<std::string_view, std::int64_t> texts_;
  std::unordered_map<std::uint64_t, std::int64_t> numbers_;
};

Tensor list_of(const std::vector<std::string>& values) {
  return Tensor::of_strings({static_cast<std::int64_t>(values.size())}, values);
}
template <class T>
Tensor list_of(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

struct Mapping {
  Tensor keys, values, fallback;  // two lists of equal length, and one more value
};

core::Result<Mapping> checked(Mapping mapping, const Call& call) {
  if (mapping.keys.elements() != mapping.values.elements()) {
    return fail(ErrorCode::kInvalidArgument, "{} keys for {} values", mapping.keys.elements(),
                mapping.values.elements());
  }
  if (mapping.keys.dtype() != call.in(0).dtype()) {
    return fail(ErrorCode::kInvalidArgument, "input 0 is {}, the keys are {}",
                traits(call.in(0).dtype()).name, traits(mapping.keys.dtype()).name);
  }
  return mapping;
}

// The list <prefix>_strings, _int64s, _floats or _tensor; exactly one must be there.
core::Result<Tensor> the_list(const Call& call, const std::string& prefix) {
  const Attributes& attributes = *call.attributes;
  std::vector<Tensor> found;
  if (attributes.has(prefix + "_strings")) {
    COMMENSAL_ASSIGN(const auto values, attributes.texts(prefix + "_strings"));
    found.push_back(list_of(values));
  }
  if (attributes.has(prefix + "_int64s")) {
    COMMENSAL_ASSIGN(const auto values, attributes.integers(prefix + "_int64s"));
    found.push_back(list_of(values));
  }
  if (attributes.has(prefix + "_floats")) {
    COMMENSAL_ASSIGN(const auto values, attributes.reals(prefix + "_floats"));
    found.push_back(list_of(values));
  }
  if (attributes.has(prefix + "_tensor")) {
    COMMENSAL_ASSIGN(const Tensor values, attributes.tensor(prefix + "_tensor"));
    if (values.dtype() != DType::kString && !Mapped::has(values.dtype())) {
      return fail(ErrorCode::kUnsupported, "attribute '{}_tensor' must be string, {}", prefix,
                  Mapped::text());
    }
    found.push_back(values);
  }
  if (found.size() == 1) return found[0];
  return fail(ErrorCode::kInvalidArgument, "there are {} lists '{}_*', expected one", found.size(),
              prefix);
}

// What stands for a value that is not found: default_tensor, else the default_* of its type, else
// "_Unused", -1 or -0.
core::Result<Tensor> the_fallback(const Call& call, DType dtype) {
  const Attributes& attributes = *call.attributes;
  if (attributes.has("default_tensor")) {
    COMMENSAL_ASSIGN(const Tensor given, attributes.tensor("default_tensor"));
    if (given.dtype() == dtype && given.elements() == 1) return given;
    return fail(ErrorCode::kInvalidArgument, "attribute 'default_tensor' must be one {}, not {}",
                traits(dtype).name, given.type().text());
  }
  COMMENSAL_ASSIGN(const std::string text, attributes.text("default_string", "_Unused"));
  COMMENSAL_ASSIGN(const std::int64_t integer, attributes.integer("default_int64", -1));
  COMMENSAL_ASSIGN(const float real, attributes.real("default_float", -0.0f));
  if (dtype == DType::kString) return list_of(std::vector<std::string>{text});
  return visit(Mapped{}, dtype, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>)
      return list_of(std::vector<T>{T{real}});
    else
      return list_of(std::vector<T>{convert<T>(integer)});
  });
}

struct LabelEncoder {
  static core::Result<Mapping> of(const Call& call) {
    Mapping mapping;
    COMMENSAL_ASSIGN(mapping.keys, the_list(call, "keys"));
    COMMENSAL_ASSIGN(mapping.values, the_list(call, "values"));
    COMMENSAL_ASSIGN(mapping.fallback, the_fallback(call, mapping.values.dtype()));
    return mapping;
  }
};

// Strings to numbers or back: the input says which.
core::Result<Mapping> two_way(const Call& call, const std::vector<std::string>& texts,
                              const std::vector<std::int64_t>& numbers) {
  const bool from_text = call.in(0).dtype() == DType::kString;
  Mapping mapping{list_of(texts), list_of(numbers), {}};
  if (!from_text) std::swap(mapping.keys, mapping.values);
  COMMENSAL_ASSIGN(mapping.fallback, the_fallback(call, mapping.values.dtype()));
  return mapping;
}

struct LabelEncoder1 {
  static core::Result<Mapping> of(const Call& call) {
    COMMENSAL_ASSIGN(const auto texts, call.attributes->texts("classes_strings"));
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < texts.size(); ++i) numbers.push_back(static_cast<std::int64_t>(i));
    return two_way(call, texts, numbers);
  }
};

struct CategoryMapper {
  static core::Result<Mapping> of(const Call& call) {
    COMMENSAL_ASSIGN(const auto texts, call.attributes->texts("cats_strings"));
    COMMENSAL_ASSIGN(const auto numbers, call.attributes->integers("cats_int64s"));
    return two_way(call, texts, numbers);
  }
};

template <class Source>
struct MapPlan {
  Mapping mapping;
  KeyIndex index;
  Shape shape;

  static core::Result<MapPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(const Mapping given, Source::of(call));
    COMMENSAL_ASSIGN(Mapping mapping, checked(given, call));
    return MapPlan{mapping, KeyIndex(call.pulse, mapping.keys), call.in(0).shape()};
  }
  std::vector<TensorType> types() const { return {{mapping.values.dtype(), shape}}; }

  // The list and the place in it that an element is mapped to.
  std::pair<const Tensor*, std::size_t> target(const Call& call, std::int64_t i) const {
    const std::int64_t found = index.find(call.in(0), i);
    if (found < 0) return {&mapping.fallback, 0};
    return {&mapping.values, static_cast<std::size_t>(found)};
  }
  Scalar element(const Call& call, int, std::int64_t i) const {
    const auto [list, at] = target(call, i);
    Scalar made{list->dtype(), 0};
    const auto size = static_cast<std::size_t>(tensor::traits(made.dtype).size);
    if (size > 0) std::memcpy(&made.bits, list->bytes().data() + at * size, size);
    return made;
  }
  void reads(const Call&, int, std::int64_t i, std::vector<ElementRef>& out) const {
    out.push_back({0, i});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto size = static_cast<std::size_t>(tensor::traits(mapping.values.dtype()).size);
    std::vector<std::string_view> texts;
    if (size == 0) texts.reserve(static_cast<std::size_t>(shape.elements()));
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      call.pulse(4);
      const auto [list, at] = target(call, i);
      if (size == 0) {
        texts.push_back(list->strings()[at]);
      } else {
        std::memcpy(outputs[0].mutable_bytes().data() + static_cast<std::size_t>(i) * size,
                    list->bytes().data() + at * size, size);
      }
    }
    if (size > 0) return;
    outputs[0] = Tensor::of_string_views(shape, std::move(texts),
                                         {mapping.values.owner(), mapping.fallback.owner()});
  }
};

struct OneHotEncoderPlan {
  KeyIndex index;
  Shape shape;  // of the output
  std::int64_t categories = 0;

  static core::Result<OneHotEncoderPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto numbers, call.attributes->integers("cats_int64s"));
    COMMENSAL_ASSIGN(const auto texts, call.attributes->texts("cats_strings"));
    COMMENSAL_ASSIGN(const std::int64_t zeros, call.attributes->integer("zeros", 1));
    if (numbers.empty() == texts.empty()) {
      return fail(ErrorCode::kInvalidArgument,
                  "one of the attributes 'cats_int64s' and 'cats_strings' must list categories");
    }
    const bool is_text = call.in(0).dtype() == DType::kString;
    if (!is_text) COMMENSAL_TRY(shape_inference::check_dtype<ml::Numbers>(call, 0));
    if (is_text == texts.empty()) {
      return fail(ErrorCode::kInvalidArgument, "input 0 is {}, the categories are not",
                  traits(call.in(0).dtype()).name);
    }
    const Shape& from = call.in(0).shape();
    std::vector<std::int64_t> dims(from.dims().begin(), from.dims().end());
    dims.push_back(static_cast<std::int64_t>(is_text ? texts.size() : numbers.size()));
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
    OneHotEncoderPlan plan{KeyIndex(call.pulse, is_text ? list_of(texts) : list_of(numbers)), shape,
                           dims.back()};
    for (std::int64_t i = 0; zeros == 0 && i < from.elements(); ++i) {
      if (plan.category(call, i) < 0) {
        return fail(ErrorCode::kInvalidArgument, "element {} is of no category", i);
      }
    }
    return plan;
  }
  std::vector<TensorType> types() const { return {{DType::kFloat32, shape}}; }

  std::int64_t category(const Call& call, std::int64_t i) const {
    call.pulse(4);
    if (call.in(0).dtype() == DType::kString) return index.find(call.in(0), i);
    return visit(ml::Numbers{}, call.in(0).dtype(), [&]<class T>() {
      const T x = paced<T>(call, 0)[static_cast<std::size_t>(i)];
      return index.find_number(key_bits(convert<std::int64_t>(x)));
    });
  }
  float value(const Call& call, std::int64_t at) const {
    return category(call, at / categories) == at % categories ? 1.0f : 0.0f;
  }
  Scalar element(const Call& call, int, std::int64_t at) const {
    return scalar_of(value(call, at));
  }
  void reads(const Call&, int, std::int64_t at, std::vector<ElementRef>& out) const {
    out.push_back({0, at / categories});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto y = outputs[0].mutable_data<float>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = value(call, static_cast<std::int64_t>(i));
  }
};

// Columns of the last dimension; of a vector, columns of one row.
struct ArrayFeatureExtractor {
  DType dtype = DType::kUndefined;
  Shape to;
  std::int64_t length = 0;
  std::vector<std::int64_t> picked;
  static constexpr int kFirstParameter = 1;

  static core::Result<ArrayFeatureExtractor> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<ml::Numbers>(call, 0));
    COMMENSAL_TRY(shape_inference::check_dtype<Types<std::int64_t>>(call, 1));
    const Shape& from = call.in(0).shape();
    if (from.rank() == 0) return fail(ErrorCode::kInvalidArgument, "input 0 has no dimension");
    ArrayFeatureExtractor op;
    op.dtype = call.in(0).dtype();
    op.length = from[from.rank() - 1];
    const auto given = paced<std::int64_t>(call, 1);
    op.picked.assign(given.begin(), given.end());
    for (const std::int64_t index : op.picked) {
      if (index < 0 || index >= op.length) {
        return fail(ErrorCode::kInvalidArgument, "index {} is not within a dimension of {}", index,
                    op.length);
      }
    }
    std::vector<std::int64_t> dims(from.dims().begin(), from.dims().end());
    dims.back() = static_cast<std::int64_t>(op.picked.size());
    if (from.rank() == 1) dims.insert(dims.begin(), 1);
    COMMENSAL_ASSIGN(op.to, Shape::of(dims));
    return op;
  }
  std::vector<TensorType> types() const { return {{dtype, to}}; }
  ElementRef source(int, std::int64_t index) const {
    const auto count = static_cast<std::int64_t>(picked.size());
    return {0, index / count * length + picked[static_cast<std::size_t>(index % count)]};
  }
};

}  // namespace

constinit const Judge kArrayFeatureExtractor = movement<ArrayFeatureExtractor>();
constinit const Judge kCategoryMapper = judge_of<MapPlan<CategoryMapper>>();
constinit const Judge kLabelEncoder = judge_of<MapPlan<LabelEncoder>>();
constinit const Judge kLabelEncoder1 = judge_of<MapPlan<LabelEncoder1>>();
constinit const Judge kOneHotEncoder = judge_of<OneHotEncoderPlan>();

}  // namespace commensal::kernels::ref
