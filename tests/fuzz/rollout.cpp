// SPDX-License-Identifier: Apache-2.0
// What is kept and shown of jobs and their steps: the first byte chooses. What decodes has this one
// encoding, and checking it takes any values.
#include <algorithm>
#include <commensal/verify/receipt/origin.hpp>
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
    const receipt::StepTask& task = decoded->task;
    if (task.step >= 1000) return;
    const auto full = receipt::input_root_of(task);
    const auto shown = receipt::input_root_of(receipt::origin_of(task), task.job, task.step);
    core::check(!shown || !full || *shown == *full, "what is shown leads to the step's input root");
  }
}

constexpr void (*kReaders[])(core::ByteView) = {read<receipt::Opening>, read<rollout::JobRecord>,
                                                read<rollout::StepRecord>,
                                                read<receipt::Assignment>, read<receipt::Origin>};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
