// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/few.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <vector>

namespace commensal::kernels::cpu {

/// `floats` floats from the arena, aligned to a cache line, contents unspecified.
inline core::Result<std::shared_ptr<float>> floats_from(tensor::Arena& arena, std::int64_t floats) {
  COMMENSAL_ASSIGN(const std::shared_ptr<std::byte> block,
                   arena.allocate(floats * static_cast<std::int64_t>(sizeof(float))));
  return std::shared_ptr<float>(block, reinterpret_cast<float*>(block.get()));
}

/// Floats that are rather on the stack than in the arena, which takes longer than what is small.
inline constexpr std::int64_t kFewFloats = 2048;

/// Room for the floats of a call: on the stack where they are few.
class Room {
 public:
  /// Once. Error: kResourceExhausted.
  core::Result<float*> of(tensor::Arena& arena, std::int64_t floats) {
    if (floats <= kFewFloats) return few_;
    COMMENSAL_ASSIGN(many_, floats_from(arena, floats));
    return many_.get();
  }

 private:
  alignas(tensor::Arena::kAlignment) float few_[kFewFloats];  // unspecified, as the arena's
  std::shared_ptr<float> many_;
};

/// Calls task(i, scratch) once for every i in [0, count), on the pool's threads; tasks that run at
/// the same time have different scratches of `floats` floats: where there is no room for as many as
/// there are threads, fewer work. Error: kResourceExhausted, before any task has run.
template <class Task>
core::Result<void> run_with_scratch(Workspace& ws, std::int64_t count, std::int64_t floats,
                                    const Task& task) {
  if (floats <= kFewFloats) {
    ws.threads.run(count, [&](std::int64_t i) {
      alignas(tensor::Arena::kAlignment) float scratch[kFewFloats];
      task(i, scratch);
    });
    return {};
  }
  const auto wanted = std::min<std::int64_t>(count, ws.threads.threads());
  std::vector<std::shared_ptr<float>> scratches;
  while (std::ssize(scratches) < wanted) {
    auto scratch = floats_from(ws.arena, floats);
    if (!scratch && scratches.empty()) return tl::unexpected(std::move(scratch.error()));
    if (!scratch) break;
    scratches.push_back(*std::move(scratch));
  }
  const auto slots = std::ssize(scratches);
  if (slots == 0) return {};
  Shares shares(count, static_cast<int>(slots));
  ws.threads.run(slots, [&](std::int64_t slot) {
    float* const scratch = scratches[static_cast<std::size_t>(slot)].get();
    shares.work(static_cast<int>(slot), [&](std::int64_t i) {
      ws.threads.yield();
      task(i, scratch);
    });
  });
  return {};
}

}  // namespace commensal::kernels::cpu
