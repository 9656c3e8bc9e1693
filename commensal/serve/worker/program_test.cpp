// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/worker/inside.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <commensal/serve/worker/testing/hostile.hpp>

// The tests' own program is their workers' program too.
int main(int argc, char** argv) {
  namespace worker = commensal::worker;
  const std::string_view word = argc == 2 ? argv[1] : "";
  if (word == worker::kWorkerWord) return worker::work({});
  if (word == worker::testing::kHostileWord) return worker::testing::work_hostile();
  if (word == worker::testing::kPacedWord) return worker::testing::work_paced();
  if (word == worker::testing::kParentWord) {
    return worker::testing::be_parent(COMMENSAL_SOURCE_DIR "/models/digits/digits.onnx");
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
