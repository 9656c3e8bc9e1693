// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/network_writer.hpp>
#include <commensal/lab/super_resolution.hpp>

namespace commensal::lab {

core::Bytes super_resolution(std::uint64_t seed) {
  NetworkWriter writer(seed, "super_resolution");
  writer.input("image", {1, 0, 0});
  writer.output("enlarged", {1, 0, 0});
  std::string x = writer.conv_relu("image", "conv1", 1, 64, 5, 1, 2);
  x = writer.conv_relu(x, "conv2", 64, 64, 3, 1, 1);
  x = writer.conv_relu(x, "conv3", 64, 32, 3, 1, 1);
  x = writer.conv(x, "conv4", 32, 9, 3, 1, 1);
  auto& shuffle = writer.add("DepthToSpace", {x}, "enlarged");
  NetworkWriter::set(shuffle, "blocksize", 3);
  NetworkWriter::set(shuffle, "mode", "CRD");
  return writer.finish();
}

}  // namespace commensal::lab
