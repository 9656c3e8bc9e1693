// SPDX-License-Identifier: Apache-2.0
// The shared library that is loaded where a card is: the kernels, compiled by nvcc, and the few
// things that they need of CUDA's runtime. One card (the first), one stream.
#include <commensal/compute/kernels/cuda/launch.hpp>
#include <commensal/compute/kernels/cuda/tasks.hpp>
#include <cstddef>

namespace commensal::kernels::cuda {
namespace {

struct Card : Queue {
  cudaDeviceProp properties{};
};

Queue* open(std::uint64_t) {
  auto* card = new Card;
  if (card->holds(cudaSetDevice(0)) && card->holds(cudaGetDeviceProperties(&card->properties, 0))) {
    card->holds(cudaStreamCreate(&card->stream));
  }
  return card;
}

void close(Queue* queue) {
  if (queue->stream != nullptr) cudaStreamDestroy(queue->stream);
  delete static_cast<Card*>(queue);
}

const char* error(Queue* queue) {
  queue->holds(cudaStreamSynchronize(queue->stream));
  return queue->error == cudaSuccess ? nullptr : cudaGetErrorString(queue->error);
}

const char* name(Queue* queue) { return static_cast<Card*>(queue)->properties.name; }

void* allocate(Queue*, std::size_t bytes) {
  void* memory = nullptr;
  return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : nullptr;
}

// Waits until nothing uses the memory.
void release(Queue*, void* memory) { cudaFree(memory); }

void upload(Queue* queue, void* to, const void* from, std::size_t bytes) {
  queue->holds(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, queue->stream));
  queue->holds(cudaStreamSynchronize(queue->stream));  // the caller may let go of `from`
}

void download(Queue* queue, void* to, const void* from, std::size_t bytes) {
  queue->holds(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, queue->stream));
  queue->holds(cudaStreamSynchronize(queue->stream));
}

}  // namespace
}  // namespace commensal::kernels::cuda

extern "C" __attribute__((visibility("default"))) const commensal::kernels::cuda::Driver*
commensal_cuda_driver() {
  using namespace commensal::kernels::cuda;
  static constexpr Driver kDriver = {.open = open,
                                     .close = close,
                                     .error = error,
                                     .name = name,
                                     .allocate = allocate,
                                     .release = release,
                                     .upload = upload,
                                     .download = download};
  return &kDriver;
}
