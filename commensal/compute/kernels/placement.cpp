// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/placement.hpp>

#ifdef __linux__
#include <sched.h>
#endif

namespace commensal::kernels {

#ifdef __linux__

int current_cpu() { return sched_getcpu(); }

void step_aside_from(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE || current_cpu() != cpu) return;
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
  cpu_set_t others = all;
  CPU_CLR(cpu, &others);
  // What fails leaves the thread where it was, as slow as before.
  if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof all, &all);
}

#else

int current_cpu() { return -1; }
void step_aside_from(int) {}

#endif

}  // namespace commensal::kernels
