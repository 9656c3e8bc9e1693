// SPDX-License-Identifier: Apache-2.0
// What is kept and shown of jobs and their steps: the first byte chooses. What decodes has this one
// encoding, and checking it takes any values.
#include <algorithm>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/record.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

template <class T>
void read(core::ByteView bytes) {
  const auto decoded = protocol::decode<T>(bytes);
  if (!decoded) return;
  const auto again = protocol::encode_stored(*decoded);
  core::check(again && std::ranges::equal(*again, bytes), "one value has one encoding");
  if constexpr (std::is_same_v<T, receipt::Opening>) {
    if (decoded->task.step < 1000) (void)receipt::input_root_of(decoded->task);
  }
}

constexpr void (*kReaders[])(core::ByteView) = {read<receipt::Opening>, read<rollout::JobRecord>,
                                                read<rollout::StepRecord>,
                                                read<receipt::Assignment>};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
