// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cuda/emulated.hpp>
#include <commensal/compute/kernels/cuda/launch.hpp>
#include <cstring>
#include <new>

namespace commensal::kernels::cuda {
namespace {

Queue* open(std::uint64_t seed) { return new Queue(seed); }
void close(Queue* queue) { delete queue; }

const char* error(Queue* queue) { return queue->error.empty() ? nullptr : queue->error.c_str(); }
const char* name(Queue*) { return "emulation"; }

// Filled with what is no sensible number, as a card's memory may be.
void* allocate(Queue*, std::size_t bytes) {
  void* const memory = ::operator new(bytes, std::nothrow);
  if (memory != nullptr) std::memset(memory, 0xA5, bytes);
  return memory;
}
void release(Queue*, void* memory) { ::operator delete(memory); }

void copy(Queue*, void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace

const Driver& emulated_driver() {
  static constexpr Driver kDriver = {.open = open,
                                     .close = close,
                                     .error = error,
                                     .name = name,
                                     .allocate = allocate,
                                     .release = release,
                                     .upload = copy,
                                     .download = copy};
  return kDriver;
}

}  // namespace commensal::kernels::cuda
