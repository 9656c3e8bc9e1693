// SPDX-License-Identifier: Apache-2.0
// What an arbiter reads: the first byte chooses. What decodes has this one encoding; a program that
// is made for a call, however odd, names its first and its last step.
#include <algorithm>
#include <commensal/verify/arbiter/moves.hpp>
#include <commensal/verify/arbiter/verdict.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

void expect_same(const core::Bytes& encoded, core::ByteView bytes) {
  core::check(std::ranges::equal(encoded, bytes), "one value has one encoding");
}

void read_file(core::ByteView bytes) {
  const auto file = protocol::decode<arbiter::VerdictFile>(bytes);
  if (!file) return;
  expect_same(protocol::encode(*file), bytes);
  if (const auto found = arbiter::judge(*file)) (void)arbiter::text_of(*found);
}

void read_move(core::ByteView bytes) {
  if (const auto move = protocol::decode<arbiter::Move>(bytes)) {
    expect_same(protocol::encode(*move), bytes);
  }
}

template <class Body>
void read_body(core::ByteView bytes) {
  const auto body = arbiter::decode_body<Body>(bytes);
  if (body) expect_same(arbiter::encode_body(*body), bytes);
}

void read_trace_leaf(core::ByteView bytes) {
  if (const auto leaf = arbiter::decode_trace_leaf(bytes)) {
    expect_same(arbiter::encode(*leaf), bytes);
  }
}

void read_checkpoint(core::ByteView bytes) {
  if (const auto leaf = arbiter::decode_checkpoint(bytes)) {
    expect_same(arbiter::encode(*leaf), bytes);
  }
}

// A node's leaf, how many inputs and outputs, their types, some elements of every input (as many as
// a list must have are taken), and which element.
void read_call(core::ByteView bytes) {
  protocol::Reader reader(bytes, "call");
  arbiter::NodeCall call;
  const auto node = arbiter::decode_node(reader.bytes());
  if (!node) return;
  call.node = *node;
  call.inputs.resize(reader.u8() % 8);
  call.outputs.resize(reader.u8() % 4);
  for (arbiter::Shaped& type : call.inputs) {
    read(reader, type);
    auto& list = call.lists.emplace_back();
    std::vector<std::int64_t> given;
    for (std::size_t left = reader.u8() % 2 == 0 ? 0 : reader.u8(); left > 0 && reader.ok();
         --left) {
      given.push_back(static_cast<std::int64_t>(reader.u64()));
    }
    if (!reader.ok() || !arbiter::is_list(type)) continue;
    given.resize(static_cast<std::size_t>(type.elements()));
    list = std::move(given);
  }
  for (arbiter::Shaped& type : call.outputs) read(reader, type);
  const std::size_t output = reader.u8();
  const std::uint64_t element = reader.u64();
  if (!reader.ok()) return;
  (void)arbiter::output_type(call, output);
  const auto program = arbiter::Program::of(call, output, element);
  if (!program) return;
  (void)program->at(0);
  (void)program->at(program->steps() - 1);
  (void)program->at(program->steps() / 2);
}

constexpr void (*kReaders[])(core::ByteView) = {
    read_file,
    read_move,
    read_body<arbiter::ClaimBody>,
    read_body<arbiter::Children>,
    read_body<arbiter::NodeFacts>,
    read_body<arbiter::ElementBody>,
    read_body<arbiter::OperandsBody>,
    read_trace_leaf,
    read_call,
    read_body<arbiter::SegmentClaim>,
    read_body<arbiter::TensorProof>,
    read_checkpoint,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
