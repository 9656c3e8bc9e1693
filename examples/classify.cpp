// SPDX-License-Identifier: Apache-2.0
// Reads a digit: classify models/digits/digits.onnx examples/three.pgm
#include <algorithm>
#include <commensal/compute/session.hpp>
#include <cstdio>
#include <fstream>
#include <string>

namespace compute = commensal::compute;

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: classify MODEL.onnx PICTURE.pgm\n"), 2;
  std::ifstream file(argv[2]);
  std::string magic;
  std::int64_t width = 0, height = 0, white = 0;
  file >> magic >> width >> height >> white;
  std::vector<float> pixels(64);
  for (float& pixel : pixels) file >> pixel;
  if (!file || magic != "P2" || width != 8 || height != 8) {
    return std::fprintf(stderr, "%s: expected a plain PGM of 8 x 8 pixels\n", argv[2]), 1;
  }
  const auto model = compute::Model::load(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 1;
  auto session = compute::Session::create(*model, {.threads = 2});
  if (!session) return std::fprintf(stderr, "%s\n", session.error().message.c_str()), 1;
  const auto outputs = session->run({compute::view<float>({1, 1, height, width}, pixels)});
  if (!outputs) return std::fprintf(stderr, "%s\n", outputs.error().message.c_str()), 1;

  const auto logits = outputs->front().data<float>();
  for (const float logit : logits) std::printf("%.9g ", logit);
  std::printf("\nThis is a %td.\n", std::ranges::max_element(logits) - logits.begin());
}
