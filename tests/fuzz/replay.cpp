// SPDX-License-Identifier: Apache-2.0
// What stands in for libFuzzer in ./test, where the compiler has none: runs a target on every seed,
// then on seeds that a counter-based generator has bent, until the time is up. A crash leaves the
// input in crash-<target>, which this program replays like a seed.
// usage: fuzz_TARGET SECONDS FILE_OR_FOLDER ...
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

constexpr rlim_t kMemoryBytes = rlim_t{8} << 30;  // of address space
constexpr time_t kInputSecondsMax = 20;           // of the processor: machines are busy
constexpr std::size_t kInputBytesMax = 1 << 16;

struct Running {
  const core::Bytes* input = nullptr;
  std::string crash_file;
};
Running& running() {
  static Running one;
  return one;
}

extern "C" void on_crash(int signal) {
  const int file = open(running().crash_file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file >= 0 && running().input != nullptr) {
    (void)!write(file, running().input->data(), running().input->size());
    (void)!write(STDERR_FILENO, "the input is in ", 16);
    (void)!write(STDERR_FILENO, running().crash_file.data(), running().crash_file.size());
    (void)!write(STDERR_FILENO, "\n", 1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(const core::Bytes& input) {
  running().input = &input;
  const itimerval timer{{0, 0}, {kInputSecondsMax, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);  // a hang is a finding
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

// One of the usual ways to bend a file.
void bend(core::Bytes& bytes, const core::Bytes& other, core::CounterRng& rng) {
  const auto below = [&](std::size_t bound) { return bound == 0 ? 0 : rng.next_u32() % bound; };
  const std::size_t at = below(bytes.size() + 1);
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t run = std::min<std::size_t>(1 + below(16), bytes.size() - at);
  switch (rng.next_u32() % 7) {
    case 0:
      if (at < bytes.size()) bytes[at] ^= static_cast<std::uint8_t>(1u << rng.next_u32() % 8);
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<std::uint8_t>(rng.next_u32());
      break;
    case 2:
      bytes.erase(place, place + static_cast<std::ptrdiff_t>(run));
      break;
    case 3:
      bytes.insert(place, 1 + below(8), static_cast<std::uint8_t>(rng.next_u32()));
      break;
    case 4: {  // a number at its bounds
      constexpr std::uint8_t kEdges[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
      std::fill_n(place, run, kEdges[below(std::size(kEdges))]);
      break;
    }
    case 5: {  // part of another seed
      const std::size_t from = below(other.size()), count = below(other.size() - from + 1);
      bytes.insert(place, other.begin() + static_cast<std::ptrdiff_t>(from),
                   other.begin() + static_cast<std::ptrdiff_t>(from + count));
      break;
    }
    default:
      bytes.resize(at);
  }
  if (bytes.size() > kInputBytesMax) bytes.resize(kInputBytesMax);
}

std::vector<core::Bytes> read_seeds(char** first, char** last) {
  std::vector<core::Path> paths;
  for (char** one = first; one != last; ++one) {
    if (!std::filesystem::is_directory(*one)) paths.emplace_back(*one);
    if (!std::filesystem::is_directory(*one)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(*one)) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<core::Bytes> seeds;
  for (const core::Path& path : paths) {
    auto bytes = core::read_file(path);
    core::check(bytes.has_value(), "a seed can be read");
    seeds.push_back(*std::move(bytes));
  }
  return seeds;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s SECONDS FILE_OR_FOLDER ...\n", words[0]);
    return 2;
  }
  const rlimit limit{kMemoryBytes, kMemoryBytes};
  setrlimit(RLIMIT_AS, &limit);
  running().crash_file = "crash-" + core::Path(words[0]).filename().string();
  for (const int one : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF}) {
    std::signal(one, on_crash);
  }
  const std::vector<core::Bytes> seeds = read_seeds(words + 2, words + count);
  core::check(!seeds.empty(), "there are seeds");
  for (const core::Bytes& seed : seeds) run(seed);

  const core::SystemClock clock;
  const std::int64_t end_ns =
      clock.monotonic_ns() + static_cast<std::int64_t>(std::atof(words[1]) * 1e9);
  std::uint64_t runs = 0;
  for (; clock.monotonic_ns() < end_ns; ++runs) {
    core::CounterRng rng(runs);
    core::Bytes input = seeds[rng.next_u32() % seeds.size()];
    const core::Bytes& other = seeds[rng.next_u32() % seeds.size()];
    for (std::uint32_t left = 1 + rng.next_u32() % 6; left > 0; --left) bend(input, other, rng);
    run(input);
  }
  std::printf("%zu seeds, %llu bent ones\n", seeds.size(), static_cast<unsigned long long>(runs));
  return 0;
}
