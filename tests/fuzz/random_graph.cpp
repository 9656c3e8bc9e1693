// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <map>
#include <tests/fuzz/random_graph.hpp>

namespace commensal::fuzz {
namespace {

using kernels::Attribute;
using kernels::Attributes;
using kernels::testing::Sample;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using tensor::TensorType;

constexpr std::size_t kNodesMax = 6;
constexpr std::int64_t kElementsMax = 4096;

// Every operator is as likely as any other, however many samples it has.
const Sample& pick_sample(Choices& c) {
  using ByName = std::map<std::string, std::vector<Sample>>;
  static const ByName by_name = [] {
    ByName made;
    for (Sample& one : kernels::testing::all_samples()) made[one.name].push_back(std::move(one));
    return made;
  }();
  const auto& [name, samples] =
      *std::next(by_name.begin(), static_cast<std::ptrdiff_t>(c.below(by_name.size())));
  return samples[c.below(samples.size())];
}

std::int64_t integer(Choices& c, std::int64_t near) {
  constexpr std::int64_t kEdges[] = {0,         1,         -1,        2,
                                     3,         7,         16,        255,
                                     1 << 20,   INT32_MAX, INT32_MIN, std::int64_t{1} << 40,
                                     INT64_MAX, INT64_MIN};
  if (c.once_in(2)) return kEdges[c.below(std::size(kEdges))];
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(near) + c.below(9) - 4);
}
float real(Choices& c) {
  constexpr float kEdges[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1e-30f, 1e30f, 3e38f};
  if (c.once_in(2)) return kEdges[c.below(std::size(kEdges))];
  return std::bit_cast<float>(static_cast<std::uint32_t>(c.word(4)));
}

// Bools are 0 or 1, and elements of 4 bits are below 16: whoever makes tensors sees to it.
Tensor filled(const TensorType& type, std::vector<std::uint8_t> bytes) {
  const bool is_half_byte =
      type.dtype == DType::kUint4 || type.dtype == DType::kInt4 || type.dtype == DType::kFloat4E2M1;
  const std::uint8_t mask = type.dtype == DType::kBool ? 1 : is_half_byte ? 15 : 255;
  for (std::uint8_t& byte : bytes) byte &= mask;
  return Tensor::copy_of(type, bytes);
}

// Small numbers of that type, so that positions and counts are often valid ones.
Tensor small_numbers(const TensorType& type, Choices& c) {
  const std::uint64_t seed = c.byte();
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(type.bytes()));
  tensor::with_type(type.dtype, [&]<class T>() {
    for (std::size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
      const float x = 4 * core::counter_symmetric_f32(seed, 0, i);
      T value{};
      if constexpr (std::is_arithmetic_v<T>) {
        value = static_cast<T>(std::is_unsigned_v<T> ? std::abs(x) : x);
      } else {
        value.bits = static_cast<decltype(value.bits)>(std::bit_cast<std::uint32_t>(x) >> 16);
      }
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return filled(type, std::move(bytes));
}

Shape bent(const Shape& shape, Choices& c) {
  std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  const std::size_t way = c.below(5);
  if (way == 4 && dims.size() >= 2) {  // costs nothing, however long the other dimension is
    dims[c.below(dims.size())] = std::int64_t{1} << (8 + c.below(32));
    dims[c.below(dims.size())] = 0;
  }
  if (way == 0) {
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(c.below(dims.size() + 1)), 1);
  }
  if (way == 1 && !dims.empty()) dims.pop_back();
  if ((way == 2 || way == 3) && !dims.empty()) {
    dims[c.below(dims.size())] = static_cast<std::int64_t>(c.below(9));
  }
  const auto made = Shape::of(dims);
  return made && made->elements() <= kElementsMax ? *made : shape;
}

Tensor bent(const Tensor& from, Choices& c) {
  if (!from.defined() || from.dtype() == DType::kString || !c.once_in(5)) return from;
  TensorType type = from.type();
  if (c.once_in(3)) type.shape = bent(type.shape, c);
  if (c.once_in(3)) {
    const auto& other = tensor::all_dtypes()[c.below(tensor::all_dtypes().size())];
    if (other.size > 0) type.dtype = other.dtype;
  }
  if (type != from.type()) return small_numbers(type, c);
  std::vector<std::uint8_t> bytes(from.bytes().begin(), from.bytes().end());
  for (std::size_t i = 0; i < 3 && !bytes.empty(); ++i) bytes[c.below(bytes.size())] = c.byte();
  return filled(type, std::move(bytes));
}

struct Bend {
  Choices& c;

  void operator()(std::int64_t& x) const { x = integer(c, x); }
  void operator()(float& x) const { x = real(c); }
  void operator()(std::string& x) const {
    if (x.empty() || c.once_in(3)) {
      x.push_back(static_cast<char>(c.byte() % 128));
    } else {
      x[c.below(x.size())] = static_cast<char>(c.byte() % 128);
    }
  }
  void operator()(Tensor& x) const { x = bent(x, c); }
  template <class T>
  void operator()(std::vector<T>& list) const {
    const std::size_t way = c.below(4);
    if (way == 0 && list.size() < 9) list.push_back(list.empty() ? T{} : list.back());
    if (way == 1 && !list.empty()) list.pop_back();
    if (way >= 2 && !list.empty()) (*this)(list[c.below(list.size())]);
  }
  template <class T>
  void operator()(T&) const {}
};

Attributes bent(const Attributes& from, Choices& c) {
  Attributes made;
  for (const auto& [name, value] : from.all()) {
    if (c.once_in(24)) continue;
    Attribute kept = value;
    if (c.once_in(8)) std::visit(Bend{c}, kept);
    made.set(name, std::move(kept));
  }
  if (c.once_in(16)) {  // one that another call has
    const auto& others = pick_sample(c).attributes.all();
    if (!others.empty()) {
      const auto& [name, value] =
          *std::next(others.begin(), static_cast<std::ptrdiff_t>(c.below(others.size())));
      made.set(name, value);
    }
  }
  return made;
}

class Maker {
 public:
  explicit Maker(Choices& choices) : c_(choices) {}

  RandomGraph make() {
    graph_->name = "fuzz";
    const std::size_t nodes = 1 + c_.below(kNodesMax);
    for (std::size_t i = 0; i < nodes && (i == 0 || c_.any_left()); ++i) add_node();
    return {graph_, std::move(inputs_)};
  }

 private:
  graph::ValueId new_value() {
    const auto id = static_cast<graph::ValueId>(graph_->values.size());
    graph_->values.push_back({"v" + std::to_string(id), {}});
    return id;
  }

  graph::ValueId input_of(const Tensor& from) {
    if (!from.defined() || c_.once_in(80)) return graph::kAbsent;
    if (!made_.empty() && c_.once_in(4)) return made_[c_.below(made_.size())];
    const Tensor value = bent(from, c_);
    const graph::ValueId id = new_value();
    if (c_.once_in(2)) {
      graph_->initialisers.emplace(id, value);
    } else {
      graph::Declared& declared = graph_->values[static_cast<std::size_t>(id)].declared;
      declared.dtype = value.dtype();
      declared.ranked = true;
      declared.dims.assign(value.shape().dims().begin(), value.shape().dims().end());
      declared.symbols.resize(declared.dims.size());
      graph_->inputs.push_back(id);
      inputs_.push_back(value);
    }
    return id;
  }

  void add_node() {
    const Sample& sample = pick_sample(c_);
    graph::Node node;
    node.opset = c_.once_in(16) ? 1 + static_cast<int>(c_.below(24)) : sample.opset;
    const auto found = kernels::find_operator(sample.domain, sample.name, node.opset);
    if (!found) return;
    node.op = *found;
    node.name = sample.name;
    node.attributes = bent(sample.attributes, c_);
    for (const Tensor& from : sample.inputs) node.inputs.push_back(input_of(from));
    if (c_.once_in(40))
      node.inputs.push_back(input_of(sample.inputs.empty() ? Tensor{} : sample.inputs[0]));
    while (!node.inputs.empty() && node.inputs.back() == graph::kAbsent) node.inputs.pop_back();
    const auto count = static_cast<int>(node.inputs.size());
    if (count < node.op->inputs.min || count > node.op->inputs.max) return;
    const int outputs = c_.once_in(16) ? 1 + static_cast<int>(c_.below(4)) : sample.outputs;
    if (outputs > node.op->outputs_max) return;
    for (int i = 0; i < outputs; ++i) {
      node.outputs.push_back(new_value());
      graph_->outputs.push_back(node.outputs.back());
      made_.push_back(node.outputs.back());
    }
    graph_->nodes.push_back(std::move(node));
  }

  Choices& c_;
  std::shared_ptr<graph::Graph> graph_ = std::make_shared<graph::Graph>();
  std::vector<Tensor> inputs_;
  std::vector<graph::ValueId> made_;
};

}  // namespace

RandomGraph random_graph(Choices& choices) { return Maker(choices).make(); }

}  // namespace commensal::fuzz
