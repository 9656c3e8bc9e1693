// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/onnx/attribute_proto.hpp>
#include <commensal/compute/graph/onnx/tensor_proto.hpp>
#include <commensal/compute/graph/onnx/text.hpp>
#include <set>

namespace commensal::graph::onnx {

using core::ErrorCode;
using core::fail;
using core::Result;
using kernels::Attribute;
using Proto = ::onnx::AttributeProto;

namespace {

using Reader = Result<Attribute> (*)(const Proto&, ExternalFiles&);

struct Row {
  Proto::AttributeType type;
  const char* name;
  Reader read;  // null: not supported
};

constexpr Row kRows[] = {
    {Proto::INT, "an integer",
     [](const Proto& p, ExternalFiles&) -> Result<Attribute> {
       return Attribute(static_cast<std::int64_t>(p.i()));
     }},
    {Proto::FLOAT, "a float",
     [](const Proto& p, ExternalFiles&) -> Result<Attribute> { return Attribute(p.f()); }},
    {Proto::STRING, "a string",
     [](const Proto& p, ExternalFiles&) -> Result<Attribute> { return Attribute(p.s()); }},
    {Proto::INTS, "integers",
     [](const Proto& p, ExternalFiles&) -> Result<Attribute> {
       return Attribute(std::vector<std::int64_t>(p.ints().begin(), p.ints().end()));
     }},
    {Proto::FLOATS, "floats",
     [](const Proto& p, ExternalFiles&) -> Result<Attribute> {
       return Attribute(std::vector<float>(p.floats().begin(), p.floats().end()));
     }},
    {Proto::STRINGS, "strings",
     [](const Proto& p, ExternalFiles&) -> Result<Attribute> {
       return Attribute(std::vector<std::string>(p.strings().begin(), p.strings().end()));
     }},
    {Proto::TENSOR, "a tensor",
     [](const Proto& p, ExternalFiles& files) -> Result<Attribute> {
       COMMENSAL_ASSIGN(tensor::Tensor value, to_tensor(p.t(), std::nullopt, files));
       return Attribute(std::move(value));
     }},
    {Proto::GRAPHS, "subgraphs", nullptr},
    {Proto::TENSORS, "a list of tensors", nullptr},
    {Proto::SPARSE_TENSOR, "a sparse tensor", nullptr},
    {Proto::SPARSE_TENSORS, "sparse tensors", nullptr},
    {Proto::TYPE_PROTO, "a type",
     [](const Proto& p, ExternalFiles&) -> Result<Attribute> {
       return Attribute(p.tp().SerializeAsString());  // no operator looks at it
     }},
    {Proto::TYPE_PROTOS, "types", nullptr},
};

Result<Attribute> to_attribute(const Proto& proto, ExternalFiles& files) {
  if (!proto.ref_attr_name().empty()) {
    return fail(ErrorCode::kInvalidArgument, "a reference outside a function");
  }
  for (const Row& row : kRows) {
    if (row.type != proto.type()) continue;
    if (row.read == nullptr) {
      return fail(ErrorCode::kUnsupported, "{} is not supported", row.name);
    }
    return row.read(proto, files);
  }
  return fail(ErrorCode::kInvalidArgument, "it has no type");
}

}  // namespace

Result<kernels::Attributes> to_attributes(const ::onnx::NodeProto& node, ExternalFiles& files) {
  kernels::Attributes attributes;
  std::set<std::string_view> names;
  for (const Proto& proto : node.attribute()) {
    const std::string place = fmt::format("attribute '{}'", one_line(proto.name()));
    if (proto.name().empty() || !is_name(proto.name()) || !names.insert(proto.name()).second) {
      return fail(ErrorCode::kInvalidArgument, "{} is there twice or has no proper name", place);
    }
    if (proto.type() == Proto::GRAPH) continue;
    auto value = to_attribute(proto, files);
    if (!value) return core::in_context(place, value.error());
    attributes.set(proto.name(), *std::move(value));
  }
  return attributes;
}

}  // namespace commensal::graph::onnx
