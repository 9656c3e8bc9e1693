// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/result.hpp>
#include <commensal/collocation/planner/devices.hpp>
#include <string>
#include <vector>

namespace commensal::planner {

/// What a block of a CUDA kernel asks for.
struct Kernel {
  int threads = 0;               // of a block
  int registers_per_thread = 0;  // of 32 bits
  int shared_bytes = 0;          // of a block
};

/// One of what a multiprocessor has.
struct Resource {
  std::string_view name;
  int blocks = 0;    // that it has room for
  double used = 0;   // share of it that the resident blocks ask for
};

/// How full a multiprocessor is with blocks of one kernel.
struct Occupancy {
  int blocks = 0;          // resident at once
  double occupancy = 0;    // warps that are resident, of those that may be
  std::vector<Resource> resources;  // threads, blocks, registers, shared memory

  /// Those that no further block fits into, because of them: one or several alike.
  std::vector<std::string_view> limits() const;
};

/// Errors: kInvalidArgument, naming what no block may have; kResourceExhausted: not one block fits.
core::Result<Occupancy> occupancy_of(const Kernel& kernel, const Architecture& architecture);

}  // namespace commensal::planner
