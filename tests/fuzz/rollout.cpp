// SPDX-License-Identifier: Apache-2.0
// What is kept and shown of rollouts: the first byte chooses. What decodes has this one encoding,
// and checking it takes any values.
#include <algorithm>
#include <commensal/verify/rollout/record.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

template <class T>
void same(const core::Result<T>& decoded, core::ByteView bytes) {
  if (!decoded) return;
  core::check(std::ranges::equal(rollout::encode(*decoded), bytes), "one value has one encoding");
}

void read_task(core::ByteView bytes) {
  const auto task = rollout::decode_step_task(bytes);
  same(task, bytes);
  if (task && task->step < 1000) (void)rollout::input_root_of(*task);
}
void read_rollout(core::ByteView bytes) { same(rollout::decode_rollout_record(bytes), bytes); }
void read_step(core::ByteView bytes) { same(rollout::decode_step_record(bytes), bytes); }

void read_assignment(core::ByteView bytes) { same(rollout::decode_assignment(bytes), bytes); }

constexpr void (*kReaders[])(core::ByteView) = {read_task, read_rollout, read_step,
                                                read_assignment};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
