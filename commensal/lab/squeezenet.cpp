// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/network_writer.hpp>
#include <commensal/lab/squeezenet.hpp>

namespace commensal::lab {
namespace {

std::string max_pool(NetworkWriter& writer, const std::string& x, const std::string& name) {
  auto& node = writer.add("MaxPool", {x}, name);
  NetworkWriter::set(node, "kernel_shape", {3, 3});
  NetworkWriter::set(node, "strides", {2, 2});
  NetworkWriter::set(node, "ceil_mode", 1);
  return name;
}

}  // namespace

core::Bytes squeezenet(std::uint64_t seed) {
  NetworkWriter writer(seed, "squeezenet");
  writer.input("image", {3, 224, 224});
  writer.output("logits", {1000});
  std::string x = writer.conv_relu("image", "conv1", 3, 64, 3, 2, 0);
  int from = 64;
  int number = 2;
  for (const int squeeze : {16, 16, 32, 32, 48, 48, 64, 64}) {
    if (number <= 6 && number % 2 == 0) x = max_pool(writer, x, fmt::format("pool{}", number));
    const std::string name = fmt::format("fire{}", number++);
    const int expand = 4 * squeeze;
    x = writer.conv_relu(x, name + ".squeeze", from, squeeze, 1, 1, 0);
    const std::string one = writer.conv_relu(x, name + ".one", squeeze, expand, 1, 1, 0);
    const std::string three = writer.conv_relu(x, name + ".three", squeeze, expand, 3, 1, 1);
    NetworkWriter::set(writer.add("Concat", {one, three}, name), "axis", 1);
    x = name;
    from = 2 * expand;
  }
  writer.add("GlobalAveragePool", {writer.conv_relu(x, "conv10", from, 1000, 1, 1, 0)}, "pool10");
  NetworkWriter::set(writer.add("Flatten", {"pool10"}, "logits"), "axis", 1);
  return writer.finish();
}

}  // namespace commensal::lab
