// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/model_record.hpp>
#include <commensal/serve/gateway/record.hpp>

namespace commensal::gateway {

namespace {

using protocol::Reader;
using protocol::Writer;

void write_port(Writer& writer, const ModelPort& port) {
  const graph::Declared& declared = port.declared;
  writer.text(port.name);
  writer.u8(static_cast<std::uint8_t>(declared.dtype));
  writer.u8(declared.ranked ? 1 : 0);
  writer.count(declared.dims.size());
  for (const std::int64_t dim : declared.dims) writer.u64(static_cast<std::uint64_t>(dim));
  protocol::write(writer, declared.symbols);
}

ModelPort read_port(Reader& reader) {
  ModelPort port;
  port.name = reader.text();
  const auto dtype = tensor::dtype_from_onnx(reader.u8());
  if (dtype) {
    port.declared.dtype = *dtype;
  } else {
    reader.refuse(core::ErrorCode::kDataLoss, dtype.error().message);
  }
  port.declared.ranked = reader.u8() != 0;
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left)
    port.declared.dims.push_back(static_cast<std::int64_t>(reader.u64()));
  protocol::read(reader, port.declared.symbols);
  return port;
}

void write_ports(Writer& writer, const std::vector<ModelPort>& ports) {
  writer.count(ports.size());
  for (const ModelPort& port : ports) write_port(writer, port);
}

std::vector<ModelPort> read_ports(Reader& reader) {
  std::vector<ModelPort> ports;
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left)
    ports.push_back(read_port(reader));
  return ports;
}

}  // namespace

core::Bytes encode(const ModelVersion& version) {
  Writer writer;
  writer.u8(kRecordVersion);
  writer.text(version.name);
  writer.text(version.owner);
  writer.u32(version.version);
  writer.u8(version.is_private ? 1 : 0);
  protocol::write(writer, version.allowed_providers);
  writer.raw(version.content);
  writer.raw(version.graph_root);
  writer.raw(version.weight_root);
  writer.u64(static_cast<std::uint64_t>(version.bytes));
  writer.u64(static_cast<std::uint64_t>(version.created_ms));
  write_ports(writer, version.inputs);
  write_ports(writer, version.outputs);
  return std::move(writer).take();
}

core::Result<ModelVersion> decode_model_version(core::ByteView value) {
  return decode_record<ModelVersion>(value, "model", [](Reader& reader, ModelVersion& version) {
    version.name = reader.text();
    version.owner = reader.text();
    version.version = reader.u32();
    version.is_private = reader.u8() != 0;
    protocol::read(reader, version.allowed_providers);
    protocol::read(reader, version.content);
    protocol::read(reader, version.graph_root);
    protocol::read(reader, version.weight_root);
    version.bytes = static_cast<std::int64_t>(reader.u64());
    version.created_ms = static_cast<std::int64_t>(reader.u64());
    version.inputs = read_ports(reader);
    version.outputs = read_ports(reader);
  });
}

}  // namespace commensal::gateway
