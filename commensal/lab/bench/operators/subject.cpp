// SPDX-License-Identifier: Apache-2.0
// From a row of the table to an ONNX file and its inputs.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/graph/work.hpp>
#include <commensal/lab/bench/operators/cases.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>

namespace commensal::lab::bench::operators {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;

constexpr std::uint64_t kSeed = 7;

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"f32", DType::kFloat32}, {"f16", DType::kFloat16}, {"f64", DType::kFloat64},
    {"i64", DType::kInt64},   {"i32", DType::kInt32},   {"i8", DType::kInt8},
    {"u8", DType::kUint8},    {"u32", DType::kUint32},  {"bool", DType::kBool}};

/// What stands between spaces.
struct Input {
  bool absent = false, constant = false;
  DType dtype = DType::kUndefined;
  std::vector<std::int64_t> dims;
  std::vector<double> elements;  // those of a literal
  char kind = ' ';               // of what is drawn: '+', '~', '<', '>' or '#'
  double bound = 1;
};

std::vector<std::string_view> words(std::string_view text, char between) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(between), text.size());
    if (end > 0) found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

template <class T>
Result<T> number(std::string_view text) {
  T value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size()) return value;
  return fail(ErrorCode::kInvalidArgument, "'{}' is no number", text);
}

template <class T>
Result<std::vector<T>> numbers(std::string_view text) {
  std::vector<T> values;
  for (const std::string_view word : words(text, ',')) {
    COMMENSAL_ASSIGN(const T value, number<T>(word));
    values.push_back(value);
  }
  return values;
}

Result<Input> input_of(std::string_view text) {
  Input input;
  input.absent = text == "-";
  if (input.absent) return input;
  input.constant = text.starts_with('*');
  if (input.constant) text.remove_prefix(1);
  const std::size_t open = text.find_first_of("[{"), close = text.find_first_of("]}");
  const auto* type =
      std::ranges::find(kTypes, text.substr(0, open), [](auto& t) { return t.first; });
  if (close == text.npos || type == std::end(kTypes)) {
    return fail(ErrorCode::kInvalidArgument, "'{}': expected a type and [its shape]", text);
  }
  input.dtype = type->second;
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  if (text[open] == '{') {
    COMMENSAL_ASSIGN(input.elements, numbers<double>(inside));
    input.constant = true;
    const bool has_rank = input.elements.size() > 1 || input.dtype == DType::kInt64;
    if (has_rank && !text.substr(close).starts_with("}."))
      input.dims = {std::ssize(input.elements)};
    return input;
  }
  COMMENSAL_ASSIGN(input.dims, numbers<std::int64_t>(inside));
  if (close + 1 == text.size()) return input;
  input.kind = text[close + 1];
  if (input.kind == '#' && (input.dims.empty() || input.dims.back() < 4 || input.dims.back() > 5)) {
    return fail(ErrorCode::kInvalidArgument, "'{}': boxes have 4 or 5 columns", text);
  }
  if (close + 2 < text.size()) {
    COMMENSAL_ASSIGN(input.bound, number<double>(text.substr(close + 2)));
  }
  return input;
}

/// Element i of boxes: `u` in [0, 1) is the share of the place that corners have.
double of_box(const Input& input, std::int64_t i, double u) {
  const std::int64_t columns = input.dims.back(), at = i % columns - (columns - 4);
  if (at < 0) return 0;  // the image
  return (at < 2 ? u : 1 + u) * input.bound / 2;
}

Result<tensor::Tensor> drawn(const Input& input, std::uint64_t stream) {
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(input.dims));
  const tensor::TensorType type{input.dtype, shape};
  core::Bytes bytes;
  for (const double element : input.elements) append_element(bytes, input.dtype, element);
  for (std::int64_t i = std::ssize(input.elements); i < shape.elements(); ++i) {
    const double u = core::counter_symmetric_f32(kSeed, stream, static_cast<std::uint64_t>(i));
    const double value = input.kind == '+'   ? 1 + (u + 1) / 2
                         : input.kind == '<' ? std::floor((u + 1) / 2 * input.bound)
                         : input.kind == '>' ? 1 + std::floor((u + 1) / 2 * input.bound)
                         : input.kind == '#' ? of_box(input, i, (u + 1) / 2)
                                             : u * input.bound;
    append_element(bytes, input.dtype, value);
  }
  return tensor::Tensor::copy_of(type, bytes);
}

Result<kernels::Attributes> attributes_of(std::string_view text) {
  kernels::Attributes made;
  for (const std::string_view word : words(text, ' ')) {
    const std::size_t at = std::min(word.find_first_of("=:"), word.size());
    const std::string name(word.substr(0, at));
    const std::string_view value = word.substr(std::min(at + 1, word.size()));
    if (word.substr(at).starts_with(":[")) {
      const auto all = words(value.substr(1, value.size() - 2), ',');
      made.set(name, std::vector<std::string>(all.begin(), all.end()));
    } else if (word.substr(at).starts_with(':')) {
      made.set(name, std::string(value));
    } else if (value.starts_with('[')) {
      COMMENSAL_ASSIGN(auto all, numbers<std::int64_t>(value.substr(1, value.size() - 2)));
      made.set(name, std::move(all));
    } else if (value.find('.') != value.npos) {
      COMMENSAL_ASSIGN(const float one, number<float>(value));
      made.set(name, one);
    } else {
      COMMENSAL_ASSIGN(const std::int64_t one, number<std::int64_t>(value));
      made.set(name, one);
    }
  }
  return made;
}

void set(::onnx::NodeProto& node, const std::string& name, const kernels::Attribute& value) {
  ::onnx::AttributeProto& made = *node.add_attribute();
  made.set_name(name);
  if (const auto* text = std::get_if<std::string>(&value)) {
    made.set_type(::onnx::AttributeProto::STRING);
    made.set_s(*text);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    made.set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string& one : *texts) made.add_strings(one);
  } else if (const auto* all = std::get_if<std::vector<std::int64_t>>(&value)) {
    made.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t one : *all) made.add_ints(one);
  } else if (const auto* real = std::get_if<float>(&value)) {
    made.set_type(::onnx::AttributeProto::FLOAT);
    made.set_f(*real);
  } else {
    made.set_type(::onnx::AttributeProto::INT);
    made.set_i(std::get<std::int64_t>(value));
  }
}

::onnx::TypeProto::Tensor& declare(::onnx::ValueInfoProto& info, const std::string& name,
                                   tensor::DType dtype) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(dtype));
  return type;
}

class Maker {
 public:
  Maker(const Case& row, std::string_view op, int copies) : row_(row), copies_(copies) {
    made_.op = op;
    made_.what = row.inputs;
    if (!row.attributes.empty()) made_.what += fmt::format(" {}", row.attributes);
    model_.set_ir_version(8);
    model_.set_producer_name("commensal");
    model_.add_opset_import()->set_version(row.opset);
    graph().set_name(made_.op);
  }

  Result<Subject> make() {
    for (const std::string_view word : words(row_.inputs, ' ')) {
      COMMENSAL_ASSIGN(const Input input, input_of(word));
      COMMENSAL_TRY(add(input));
    }
    COMMENSAL_ASSIGN(const auto attributes, attributes_of(row_.attributes));
    for (int i = 0; i < copies_; ++i) add_node(i, attributes);
    COMMENSAL_TRY(add_outputs(attributes));
    const std::string text = model_.SerializeAsString();
    const core::ByteView bytes = core::as_bytes(text);
    made_.model = {bytes.begin(), bytes.end()};
    return std::move(made_);
  }

 private:
  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  Result<void> add(const Input& input) {
    const std::string name = input.absent ? "" : fmt::format("x{}", inputs_.size());
    inputs_.push_back(name);
    if (input.absent) {
      values_.emplace_back();
      return {};
    }
    COMMENSAL_ASSIGN(values_.emplace_back(), drawn(input, inputs_.size()));
    const tensor::Tensor& value = values_.back();
    if (input.constant) {
      ::onnx::TensorProto& constant = *graph().add_initializer();
      constant.set_name(name);
      constant.set_data_type(static_cast<int>(value.dtype()));
      for (const std::int64_t dim : value.shape().dims()) constant.add_dims(dim);
      constant.set_raw_data(value.bytes().data(), value.bytes().size());
      return {};
    }
    auto& shape = *declare(*graph().add_input(), name, value.dtype()).mutable_shape();
    for (const std::int64_t dim : value.shape().dims()) shape.add_dim()->set_dim_value(dim);
    made_.names.push_back(name);
    made_.feeds.push_back(value);
    return {};
  }

  void add_node(int copy, const kernels::Attributes& attributes) {
    ::onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(made_.op);
    node.set_name(fmt::format("node{}", copy));
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      node.add_input(copy > 0 && i == 0 ? last_outputs_[0] : inputs_[i]);
    }
    last_outputs_.clear();
    for (int i = 0; i < row_.outputs; ++i) {
      last_outputs_.push_back(fmt::format("y{}_{}", copy, i));
      node.add_output(last_outputs_.back());
    }
    for (const auto& [name, value] : attributes.all()) set(node, name, value);
  }

  // Types and ranks alone: dimensions may depend on data.
  Result<void> add_outputs(const kernels::Attributes& attributes) {
    COMMENSAL_ASSIGN(const kernels::Operator* op, kernels::find_operator("", made_.op, row_.opset));
    std::vector<const tensor::Tensor*> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      inputs.push_back(inputs_[i].empty() ? nullptr : &values_[i]);
    kernels::Call call;
    call.opset = row_.opset;
    call.attributes = &attributes;
    call.inputs = inputs;
    call.output_count = row_.outputs;
    if (op->judge->infer == nullptr)
      return fail(ErrorCode::kUnsupported, "its outputs are told by running it alone");
    COMMENSAL_ASSIGN(call.outputs, op->judge->infer(call));
    const auto& types = call.outputs;
    const graph::Work work = graph::work_of(*op, call);
    made_.bytes = work.bytes;
    // An Einsum of several operands is run in pairs (graph/onnx/einsum_pairs.hpp): unlike this.
    const bool is_one_product = made_.op != "Einsum" || inputs.size() <= 2;
    if (op->kind == kernels::Kind::kDotProduct && is_one_product) made_.product_ops = work.ops;
    for (std::size_t i = 0; i < last_outputs_.size(); ++i) {
      auto& declared = declare(*graph().add_output(), last_outputs_[i], types[i].dtype);
      declared.mutable_shape();
      for (int dim = 0; dim < types[i].shape.rank(); ++dim)
        declared.mutable_shape()->add_dim()->set_dim_param(fmt::format("d{}_{}", i, dim));
    }
    return {};
  }

  const Case& row_;
  int copies_;
  Subject made_;
  ::onnx::ModelProto model_;
  std::vector<std::string> inputs_, last_outputs_;
  std::vector<tensor::Tensor> values_;  // of inputs_
};

}  // namespace

Result<Subject> subject_of(const Case& row, std::string_view op, int copies) {
  auto made = Maker(row, op, copies).make();
  return made ? std::move(made)
              : core::in_context(fmt::format("{} {}", op, row.inputs), made.error());
}

std::vector<std::string_view> names_in(std::string_view ops) { return words(ops, '|'); }

const NotMeasured* why_not_measured(std::string_view op) {
  const auto all = not_measured();
  const auto found = std::ranges::find_if(
      all, [&](const NotMeasured& row) { return std::ranges::count(names_in(row.ops), op) > 0; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<Pick> picks(std::span<const std::string> ops) {
  std::vector<Pick> all;
  for (const Case& row : case_table()) {
    for (const std::string_view op : names_in(row.ops)) {
      if (ops.empty() || std::ranges::find(ops, op) != ops.end()) all.push_back({&row, op});
    }
  }
  return all;
}

std::vector<Pick> firsts(const std::vector<Pick>& all) {
  std::vector<Pick> made;
  for (const Pick& pick : all) {
    if (std::ranges::find(made, pick.op, &Pick::op) == made.end()) made.push_back(pick);
  }
  return made;
}

}  // namespace commensal::lab::bench::operators
