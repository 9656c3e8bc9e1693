// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <hosts/streamer/triad.hpp>
#include <string>

namespace hosts::streamer {
namespace {

constexpr double kFactor = 3;
constexpr double kB = 2;
constexpr double kC = 0.5;

void triad(double* a, const double* b, const double* c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + kFactor * c[i];
}

}  // namespace

Triad::Triad(unsigned threads, std::size_t array_bytes) {
  const std::size_t chunk = kChunkBytes / sizeof(double);
  const std::size_t count = std::max(array_bytes / sizeof(double) / chunk, std::size_t{1}) * chunk;
  for (unsigned i = 0; i < threads; ++i) {
    auto worker = std::make_unique<Worker>();
    worker->a.assign(count, 0);
    worker->b.assign(count, kB);
    worker->c.assign(count, kC);
    workers_.push_back(std::move(worker));
  }
  for (const auto& worker : workers_)
    worker->thread = std::thread([this, one = worker.get()] { work(*one); });
}

void Triad::work(Worker& worker) {
  const std::size_t chunk = kChunkBytes / sizeof(double);
  for (std::size_t at = 0; !stop_.load(std::memory_order_relaxed);) {
    triad(&worker.a[at], &worker.b[at], &worker.c[at], chunk);
    worker.bytes.fetch_add(3 * kChunkBytes, std::memory_order_relaxed);
    at += chunk;
    if (at == worker.a.size()) at = 0;
  }
}

std::uint64_t Triad::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->bytes.load(std::memory_order_relaxed);
  return sum;
}

void Triad::stop() {
  stop_.store(true, std::memory_order_relaxed);
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

bool Triad::is_right() const {
  return std::ranges::all_of(workers_, [](const auto& worker) {
    const std::size_t written =
        std::min<std::size_t>(worker->bytes.load() / 3 / sizeof(double), worker->a.size());
    return std::all_of(worker->a.begin(), worker->a.begin() + static_cast<std::ptrdiff_t>(written),
                       [](double value) { return value == kB + kFactor * kC; });
  });
}

std::optional<std::size_t> last_cache_bytes() {
  std::optional<std::size_t> last;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::size_t size = 0;
    char unit = 0;
    if (!(file >> size >> unit)) break;
    last = size << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0);
  }
  return last;
}

}  // namespace hosts::streamer
