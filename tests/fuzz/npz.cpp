// SPDX-License-Identifier: Apache-2.0
// Archives of .npy, by the name that the seeds use.
#include <commensal/compute/io/npy.hpp>
#include <tests/fuzz/memory_file.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commensal;
  const fuzz::MemoryFile file({data, size});
  const auto read = io::read_npz_file(file.path(), "x");
  core::check(!read || read->bytes().size() <= static_cast<std::size_t>(limits::kFileBytesMax),
              "a file's bound is a tensor's");
  return 0;
}
