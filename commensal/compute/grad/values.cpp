// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/maker.hpp>
#include <numeric>

namespace commensal::grad {

using tensor::DType;
using tensor::TensorType;

namespace {

Value number_like(Value x, double value) { return x.maker->number(value, x.type().dtype); }

Value two(std::string_view op, Value a, Value b) { return a.maker->add(op, {a, b}); }

}  // namespace

Value operator+(Value a, Value b) { return two("Add", a, b); }
Value operator-(Value a, Value b) { return two("Sub", a, b); }
Value operator*(Value a, Value b) { return two("Mul", a, b); }
Value operator/(Value a, Value b) { return two("Div", a, b); }
Value operator+(Value a, double b) { return a + number_like(a, b); }
Value operator-(Value a, double b) { return a - number_like(a, b); }
Value operator*(Value a, double b) { return a * number_like(a, b); }
Value operator/(Value a, double b) { return a / number_like(a, b); }
Value operator-(double a, Value b) { return number_like(b, a) - b; }
Value operator-(Value a) { return apply("Neg", a); }

Value apply(std::string_view op, Value x) { return x.maker->add(op, {x}); }
Value pow(Value x, double exponent) { return two("Pow", x, number_like(x, exponent)); }
Value greater(Value a, Value b) { return two("Greater", a, b); }
Value greater(Value a, double b) { return greater(a, number_like(a, b)); }
Value less(Value a, double b) { return two("Less", a, number_like(a, b)); }
Value select(Value condition, Value a, Value b) { return a.maker->add("Where", {condition, a, b}); }
Value select(Value condition, Value a, double b) { return select(condition, a, number_like(a, b)); }

Value reshape(Value x, const Dims& dims) {
  // allowzero: a dimension of 0 is one, and copies none.
  return x.dims() == dims ? x
                          : x.maker->add("Reshape", {x, x.maker->list(dims)},
                                         attributes_of({{"allowzero", std::int64_t{1}}}));
}

Value transpose(Value x, const Dims& order) {
  if (order == range(0, x.rank())) return x;
  return x.maker->add("Transpose", {x}, attributes_of({{"perm", order}}));
}

Value transpose_last(Value x) {
  Dims order = range(0, x.rank());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}

Value expand(Value x, const Dims& dims) {
  return x.dims() == dims ? x : two("Expand", x, x.maker->list(dims));
}

Value cast(Value x, DType dtype) {
  if (x.type().dtype == dtype) return x;
  const std::int64_t number = static_cast<int>(dtype);  // as onnx.TensorProto.DataType
  return x.maker->add("Cast", {x}, attributes_of({{"to", number}}));
}

Value filled(Maker& maker, double value, const TensorType& type) {
  return expand(maker.number(value, type.dtype),
                {type.shape.dims().begin(), type.shape.dims().end()});
}

Value slice(Value x, const Dims& starts, const Dims& ends, const Dims& axes) {
  Maker& maker = *x.maker;
  return maker.add("Slice", {x, maker.list(starts), maker.list(ends), maker.list(axes)});
}

Value concat(const std::vector<Value>& all, std::int64_t axis) {
  return all[0].maker->add("Concat", all, attributes_of({{"axis", axis}}));
}

namespace {

Value reduce(std::string_view op, Value x, const Dims& axes, bool keep) {
  if (axes.empty()) return x;
  return x.maker->add(op, {x, x.maker->list(axes)},
                      attributes_of({{"keepdims", std::int64_t{keep ? 1 : 0}}}));
}

}  // namespace

Value sum(Value x, const Dims& axes, bool keep) { return reduce("ReduceSum", x, axes, keep); }
Value mean(Value x, const Dims& axes, bool keep) { return reduce("ReduceMean", x, axes, keep); }

Value sum_to(Value x, const Dims& dims) {
  const int more = x.rank() - static_cast<int>(dims.size());
  Dims axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis < more || (dims[static_cast<std::size_t>(axis - more)] == 1 && x.dim(axis) != 1))
      axes.push_back(axis);
  }
  return reshape(sum(x, axes, false), dims);
}

Dims range(std::int64_t first, std::int64_t last) {
  Dims made(static_cast<std::size_t>(std::max<std::int64_t>(0, last - first)));
  std::iota(made.begin(), made.end(), first);
  return made;
}

}  // namespace commensal::grad
