// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cuda/emulation/shared.hpp>

namespace commensal::kernels::cuda::emulation {
namespace {

constexpr int kSeveral = -1, kSeveralWarps = -2;

Visit visit_of(const Here& here) {
  return {here.block_run, here.index, here.index / kWarp, here.epoch, here.warp_epoch};
}

// True if a barrier lies between the visit and now, or nothing needs one.
bool is_ordered(const Visit& visit, const Here& here) {
  if (visit.block_run != here.block_run || visit.thread == here.index) return true;
  if (visit.epoch != here.epoch) return true;
  return visit.thread != kSeveralWarps && visit.warp == here.index / kWarp &&
         visit.warp_epoch != here.warp_epoch;
}

}  // namespace

void Trace::read() {
  const Here& here = Machine::here();
  if (writer_.block_run != here.block_run) {
    Machine::current().misuse("reads shared memory that its block has not written");
  } else if (!is_ordered(writer_, here)) {
    Machine::current().misuse(fmt::format(
        "reads shared memory that thread {} writes: no barrier lies between them", writer_.thread));
  }
  const bool alone = is_ordered(reader_, here);
  const int warp = reader_.warp, before = reader_.thread;
  reader_ = visit_of(here);
  if (alone) return;
  reader_.thread = before != kSeveralWarps && warp == reader_.warp ? kSeveral : kSeveralWarps;
}

void Trace::write() {
  const Here& here = Machine::here();
  if (!is_ordered(writer_, here) || !is_ordered(reader_, here)) {
    Machine::current().misuse(
        "writes shared memory that another thread uses: no barrier lies between them");
  }
  writer_ = visit_of(here);
  reader_ = {};
}

bool in_bounds(std::int64_t index, std::int64_t size) {
  if (index >= 0 && index < size) return true;
  Machine::current().misuse(
      fmt::format("element {} of an array of {} in shared memory", index, size));
  return false;
}

}  // namespace commensal::kernels::cuda::emulation
