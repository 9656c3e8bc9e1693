// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/classic.hpp>
#include <commensal/lab/network_writer.hpp>

namespace commensal::lab {
namespace {

/// 1x1, 3x3, 1x1, and the input beside them.
std::string bottleneck(NetworkWriter& writer, const std::string& x, const std::string& name,
                       int from, int width, int stride) {
  const int to = 4 * width;
  std::string y = writer.conv_relu(x, name + ".1", from, width, 1, 1, 0);
  y = writer.conv_relu(y, name + ".2", width, width, 3, stride, 1);
  y = writer.conv(y, name + ".3", width, to, 1, 1, 0);
  const bool changes = from != to || stride != 1;
  const std::string beside = changes ? writer.conv(x, name + ".beside", from, to, 1, stride, 0) : x;
  writer.add("Add", {y, beside}, name);
  return writer.relu(name);
}

std::string flatten(NetworkWriter& writer, const std::string& x) {
  NetworkWriter::set(writer.add("Flatten", {x}, "flat"), "axis", 1);
  return "flat";
}

}  // namespace

core::Bytes alexnet(std::uint64_t seed) {
  NetworkWriter writer(seed, "alexnet");
  writer.input("image", {3, 224, 224});
  writer.output("logits", {1000});
  std::string x = writer.conv_relu("image", "conv1", 3, 64, 11, 4, 2);
  x = writer.max_pool(x, "pool1", 0);
  x = writer.conv_relu(x, "conv2", 64, 192, 5, 1, 2);
  x = writer.max_pool(x, "pool2", 0);
  x = writer.conv_relu(x, "conv3", 192, 384, 3, 1, 1);
  x = writer.conv_relu(x, "conv4", 384, 256, 3, 1, 1);
  x = writer.conv_relu(x, "conv5", 256, 256, 3, 1, 1);
  x = flatten(writer, writer.max_pool(x, "pool5", 0));
  x = writer.relu(writer.linear(x, "fc6", 256 * 6 * 6, 4096));
  x = writer.relu(writer.linear(x, "fc7", 4096, 4096));
  writer.linear(x, "logits", 4096, 1000);
  return writer.finish();
}

core::Bytes resnet50(std::uint64_t seed) {
  NetworkWriter writer(seed, "resnet50");
  writer.input("image", {3, 224, 224});
  writer.output("logits", {1000});
  std::string x = writer.conv_relu("image", "conv1", 3, 64, 7, 2, 3);
  x = writer.max_pool(x, "pool1", 1);
  int from = 64, width = 64;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int i = 0; i < blocks; ++i) {
      const int stride = i == 0 && width > 64 ? 2 : 1;
      x = bottleneck(writer, x, fmt::format("stage{}.{}", width, i), from, width, stride);
      from = 4 * width;
    }
    width *= 2;
  }
  writer.add("GlobalAveragePool", {x}, "pool");
  writer.linear(flatten(writer, "pool"), "logits", from, 1000);
  return writer.finish();
}

}  // namespace commensal::lab
