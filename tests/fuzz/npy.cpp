// SPDX-License-Identifier: Apache-2.0
// .npy: what is read is written again and read as the same.
#include <commensal/compute/io/npy.hpp>
#include <cstring>
#include <tests/fuzz/fuzz.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commensal;
  const auto read = io::read_npy({data, size});
  if (!read) return 0;
  const auto written = io::write_npy(*read);
  core::check(written.has_value(), "what was read can be written");
  const auto again = io::read_npy(*written);
  core::check(again.has_value() && again->type() == read->type(), "the same type comes back");
  core::check(read->bytes().empty() || std::memcmp(again->bytes().data(), read->bytes().data(),
                                                   read->bytes().size()) == 0,
              "the same elements come back");
  return 0;
}
