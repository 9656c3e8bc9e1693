// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/compute/tensor/codec.hpp>
#include <commensal/serve/worker/messages.hpp>
#include <cstring>

namespace commensal::worker {

using core::ErrorCode;
using core::fail;
using core::Result;
using protocol::Reader;
using protocol::Writer;
using tensor::TensorType;

namespace {

using Preface = std::array<std::uint32_t, 2>;  // kind, size of the head
using Types = std::vector<TensorType>;

Result<void> send_head(Channel& channel, Kind kind, Writer&& writer) {
  const core::Bytes head = std::move(writer).take();
  if (head.size() > limits::kWorkerHeadBytesMax) {
    return fail(ErrorCode::kResourceExhausted,
                "{} bytes of names and shapes, a worker takes at most {}", head.size(),
                limits::kWorkerHeadBytesMax);
  }
  const Preface preface{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(head.size())};
  core::Bytes all(sizeof(preface));
  std::memcpy(all.data(), preface.data(), sizeof(preface));
  all.insert(all.end(), head.begin(), head.end());
  return channel.send(all);
}

Result<void> send_elements(Channel& channel, const receipt::Values& values) {
  for (const tensor::Tensor& value : values) COMMENSAL_TRY(channel.send(value.bytes()));
  return {};
}

void write_types(Writer& writer, const receipt::Values& values) {
  writer.count(values.size());
  for (const tensor::Tensor& value : values) tensor::write(writer, value.type());
}

Types read_types(Reader& reader) {
  Types types;
  for (std::size_t left = reader.count(limits::kInferTensorsMax); left > 0 && reader.ok(); --left) {
    auto type = tensor::read_type(reader);
    if (!type) {
      reader.refuse(type.error().code, type.error().message);
      break;
    }
    types.push_back(*std::move(type));
  }
  return types;
}

std::int64_t read_i64(Reader& reader) { return static_cast<std::int64_t>(reader.u64()); }

/// One of 0 to `last`.
std::uint8_t read_small(Reader& reader, std::uint8_t last) {
  const std::uint8_t value = reader.u8();
  if (value > last) reader.refuse(ErrorCode::kInvalidArgument, "an unknown value");
  return value > last ? 0 : value;
}
bool read_flag(Reader& reader) { return read_small(reader, 1) == 1; }

/// Takes a head of this kind apart: `read` gives the value.
template <class Read>
auto read_head(const Message& message, Kind kind, const Read& read)
    -> Result<decltype(read(std::declval<Reader&>()))> {
  if (message.kind != kind) {
    return fail(ErrorCode::kDataLoss, "message {} of a worker, expected {}",
                static_cast<std::uint32_t>(message.kind), static_cast<std::uint32_t>(kind));
  }
  Reader reader(message.head, "worker");
  auto value = read(reader);
  using Value = decltype(value);
  if (const auto whole = reader.finish(); !whole) {
    return fail(ErrorCode::kDataLoss, "{}", whole.error().message);
  }
  return Result<Value>(tl::in_place, std::move(value));
}

void write(Writer& writer, const graph::Declared& declared) {
  writer.u8(static_cast<std::uint8_t>(declared.dtype));
  writer.u8(declared.ranked ? 1 : 0);
  writer.count(declared.dims.size());
  for (std::size_t i = 0; i < declared.dims.size(); ++i) {
    writer.u64(static_cast<std::uint64_t>(declared.dims[i]));
    writer.text(i < declared.symbols.size() ? declared.symbols[i] : "");
  }
  writer.count(declared.containers.size());
  for (const graph::Container container : declared.containers) {
    writer.u8(static_cast<std::uint8_t>(container));
  }
}

std::string read_name(Reader& reader) {
  const core::ByteView name = reader.bytes(limits::kWorkerHeadBytesMax);
  return {name.begin(), name.end()};
}

graph::Declared read_declared(Reader& reader) {
  graph::Declared declared;
  const std::uint8_t dtype = reader.u8();
  for (const tensor::DTypeTraits& traits : tensor::all_dtypes()) {
    if (static_cast<std::uint8_t>(traits.dtype) == dtype) declared.dtype = traits.dtype;
  }
  declared.ranked = read_flag(reader);
  for (std::size_t left = reader.count(limits::kInferTensorsMax); left > 0 && reader.ok(); --left) {
    declared.dims.push_back(read_i64(reader));
    declared.symbols.push_back(read_name(reader));
  }
  for (std::size_t left = reader.count(limits::kInferTensorsMax); left > 0 && reader.ok(); --left) {
    declared.containers.push_back(static_cast<graph::Container>(read_small(reader, 1)));
  }
  return declared;
}

void write_side(Writer& writer, const graph::Graph& graph, const std::vector<graph::ValueId>& ids) {
  writer.count(ids.size());
  for (const graph::ValueId id : ids) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    writer.text(value.name);
    write(writer, value.declared);
  }
}

void read_side(Reader& reader, graph::Graph& graph, std::vector<graph::ValueId>& ids) {
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left) {
    ids.push_back(static_cast<graph::ValueId>(graph.values.size()));
    graph::ValueInfo value;
    value.name = read_name(reader);
    value.declared = read_declared(reader);
    graph.values.push_back(std::move(value));
  }
}

}  // namespace

Result<Message> receive(Channel& channel) {
  Preface preface{};
  COMMENSAL_TRY(channel.receive(
      {reinterpret_cast<std::uint8_t*>(preface.data()), preface.size() * sizeof(preface[0])}));
  if (preface[1] > limits::kWorkerHeadBytesMax) {
    return fail(ErrorCode::kDataLoss, "a message's head of {} bytes", preface[1]);
  }
  Message message{static_cast<Kind>(preface[0]), core::Bytes(preface[1])};
  COMMENSAL_TRY(channel.receive(message.head));
  return message;
}

Result<void> send(Channel& channel, const Load& message) {
  const graph::SessionOptions& session = message.session;
  Writer writer;
  writer.u8(static_cast<std::uint8_t>(session.backend));
  writer.u8(session.isa ? 1 + static_cast<std::uint8_t>(*session.isa) : 0);
  writer.u32(static_cast<std::uint32_t>(session.threads));
  writer.u64(static_cast<std::uint64_t>(session.memory_bytes_max));
  writer.u64(static_cast<std::uint64_t>(session.node_runs_max));
  writer.u8(session.optimise ? 1 : 0);
  writer.u8(message.has_packs ? 1 : 0);
  protocol::write(writer, message.feeds);
  writer.u64(message.model_bytes);
  writer.u64(static_cast<std::uint64_t>(message.data_bytes_max));
  return send_head(channel, Kind::kLoad, std::move(writer));
}

Result<Load> read_load(const Message& message) {
  return read_head(message, Kind::kLoad, [](Reader& reader) {
    Load load;
    load.session.backend = static_cast<graph::Backend>(read_small(reader, 1));
    if (const std::uint8_t isa = reader.u8(); isa > 0) {
      load.session.isa = static_cast<kernels::Isa>(isa - 1);
    }
    load.session.threads = static_cast<int>(reader.u32());
    load.session.memory_bytes_max = read_i64(reader);
    load.session.node_runs_max = read_i64(reader);
    load.session.optimise = read_flag(reader);
    load.has_packs = read_flag(reader);
    protocol::read(reader, load.feeds);
    load.model_bytes = reader.u64();
    load.data_bytes_max = read_i64(reader);
    return load;
  });
}

Result<void> send(Channel& channel, const Result<Loaded>& message) {
  Writer writer;
  writer.u8(message ? 1 : 0);
  if (message) {
    writer.raw(message->roots.graph);
    writer.raw(message->roots.weights);
    writer.text(message->unconfined);
    writer.text(message->face->name);
    write_side(writer, *message->face, message->face->inputs);
    write_side(writer, *message->face, message->face->outputs);
  } else {
    protocol::write(writer, message.error());
  }
  return send_head(channel, Kind::kLoaded, std::move(writer));
}

Result<Result<Loaded>> read_loaded(const Message& message) {
  return read_head(message, Kind::kLoaded, [](Reader& reader) -> Result<Loaded> {
    if (!read_flag(reader)) {
      core::Error error;
      protocol::read(reader, error);
      return tl::unexpected(std::move(error));
    }
    Loaded loaded;
    protocol::read(reader, loaded.roots.graph);
    protocol::read(reader, loaded.roots.weights);
    loaded.unconfined = reader.line(limits::kTextBytesMax);
    auto face = std::make_shared<graph::Graph>();
    face->name = read_name(reader);
    read_side(reader, *face, face->inputs);
    read_side(reader, *face, face->outputs);
    loaded.face = std::move(face);
    return loaded;
  });
}

Result<void> send(Channel& channel, const Run& message, std::span<const receipt::Values> requests) {
  Writer writer;
  writer.u32(message.number);
  writer.u64(message.step);
  writer.u8(message.noise ? 1 : 0);
  if (message.noise) {
    writer.raw(message.noise->seed);
    writer.u32(static_cast<std::uint32_t>(message.noise->exponent));
  }
  writer.u64(static_cast<std::uint64_t>(message.ops_max));
  writer.u8(message.is_joint ? 1 : 0);
  writer.count(requests.size());
  for (const receipt::Values& inputs : requests) write_types(writer, inputs);
  COMMENSAL_TRY(send_head(channel, Kind::kRun, std::move(writer)));
  for (const receipt::Values& inputs : requests) COMMENSAL_TRY(send_elements(channel, inputs));
  return {};
}

Result<Run> read_run(const Message& message) {
  return read_head(message, Kind::kRun, [](Reader& reader) {
    Run run;
    run.number = reader.u32();
    run.step = reader.u64();
    if (read_flag(reader)) {
      noise::Noise& noise = run.noise.emplace();
      protocol::read(reader, noise.seed);
      noise.exponent = static_cast<int>(reader.u32());
    }
    run.ops_max = read_i64(reader);
    run.is_joint = read_flag(reader);
    for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left) {
      run.requests.push_back(read_types(reader));
    }
    return run;
  });
}

Result<void> send(Channel& channel, const Result<receipt::Values>& answer) {
  Writer writer;
  writer.u8(answer ? 1 : 0);
  if (answer) write_types(writer, *answer);
  if (!answer) protocol::write(writer, answer.error());
  COMMENSAL_TRY(send_head(channel, Kind::kAnswer, std::move(writer)));
  return answer ? send_elements(channel, *answer) : Result<void>();
}

Result<Result<receipt::Values>> receive_answer(Channel& channel, const Message& message,
                                               tensor::Arena& arena) {
  COMMENSAL_ASSIGN(const Result<Types> types,
                   read_head(message, Kind::kAnswer, [](Reader& reader) -> Result<Types> {
                     if (read_flag(reader)) return read_types(reader);
                     core::Error error;
                     protocol::read(reader, error);
                     return tl::unexpected(std::move(error));
                   }));
  using Answer = Result<receipt::Values>;
  if (!types) return Result<Answer>(tl::in_place, tl::unexpected(types.error()));
  COMMENSAL_ASSIGN(receipt::Values values, receive_tensors(channel, *types, arena));
  return Result<Answer>(tl::in_place, std::move(values));
}

Result<receipt::Values> receive_tensors(Channel& channel, const Types& types,
                                        tensor::Arena& arena) {
  receipt::Values values;
  for (const TensorType& type : types) {
    COMMENSAL_ASSIGN(tensor::Tensor value, tensor::Tensor::allocate(arena, type));
    COMMENSAL_TRY(channel.receive(value.mutable_bytes()));
    COMMENSAL_TRY(tensor::check_elements(type.dtype, value.bytes()));
    values.push_back(std::move(value));
  }
  return values;
}

Result<void> send(Channel& channel, const FindPack& message) {
  Writer writer;
  writer.raw(message.name);
  return send_head(channel, Kind::kFindPack, std::move(writer));
}

Result<FindPack> read_find_pack(const Message& message) {
  return read_head(message, Kind::kFindPack, [](Reader& reader) {
    FindPack find;
    protocol::read(reader, find.name);
    return find;
  });
}

Result<void> send(Channel& channel, const Pack& message) {
  Writer writer;
  writer.u64(message.bytes);
  return send_head(channel, Kind::kPack, std::move(writer));
}

Result<Pack> read_pack(const Message& message) {
  return read_head(message, Kind::kPack, [](Reader& reader) { return Pack{reader.u64()}; });
}

Result<void> send(Channel& channel, const KeepPack& message) {
  Writer writer;
  writer.raw(message.name);
  writer.u64(message.bytes);
  return send_head(channel, Kind::kKeepPack, std::move(writer));
}

Result<KeepPack> read_keep_pack(const Message& message) {
  return read_head(message, Kind::kKeepPack, [](Reader& reader) {
    KeepPack keep;
    protocol::read(reader, keep.name);
    keep.bytes = reader.u64();
    return keep;
  });
}

}  // namespace commensal::worker
