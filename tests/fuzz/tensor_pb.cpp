// SPDX-License-Identifier: Apache-2.0
// Files of one value: the same bytes as a tensor, a sequence and an optional one. What is read is
// as large as its type says: the sum touches every byte.
#include <commensal/compute/graph/onnx/tensor_file.hpp>
#include <numeric>
#include <tests/fuzz/memory_file.hpp>

namespace {

using namespace commensal;

void touch(const tensor::Value& value) {
  if (value.is_sequence()) {
    for (const tensor::Value& item : value.items()) touch(item);
  }
  if (!value.is_tensor()) return;
  const auto bytes = value.tensor().bytes();
  core::check(std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}) <= bytes.size() * 255,
              "bytes are bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file({data, size});
  using graph::Container;
  const std::vector<Container> kinds[] = {
      {}, {Container::kSequence}, {Container::kOptional, Container::kSequence}};
  for (const auto& containers : kinds) {
    graph::Declared declared;
    declared.containers = containers;
    const auto read = graph::onnx::read_value_file(file.path(), declared);
    if (read) touch(read->value);
  }
  return 0;
}
