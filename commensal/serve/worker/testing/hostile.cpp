// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <commensal/compute/tensor/codec.hpp>
#include <commensal/serve/worker/layout.hpp>
#include <commensal/serve/worker/messages.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <commensal/serve/worker/sandbox.hpp>
#include <commensal/serve/worker/testing/hostile.hpp>
#include <commensal/verify/rollout/loaded.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace commensal::worker::testing {
namespace {

using core::Result;
using receipt::Values;

/// Writes past the channel into the ring, and wakes the parent.
void say(SharedPages& pages, Kind kind, std::uint32_t head_bytes, core::ByteView head) {
  core::Bytes all(2 * sizeof(std::uint32_t));
  std::memcpy(all.data(), &kind, sizeof(kind));
  std::memcpy(all.data() + sizeof(kind), &head_bytes, sizeof(head_bytes));
  all.insert(all.end(), head.begin(), head.end());
  for (const std::uint8_t byte : all) {
    pages.to_parent.bytes[pages.to_parent.written % Ring::kBytes] = byte;
    ++pages.to_parent.written;
  }
  ::send(kSocketFile, "", 1, MSG_DONTWAIT);
}

void sleep_on() {
  const timespec long_time{3600, 0};
  while (true) ::nanosleep(&long_time, nullptr);
}

void take_memory() {
  while (true) std::memset(new char[1 << 24], 1, 1 << 24);
}
void map_memory() {
  constexpr std::size_t kPiece = 1 << 26;
  while (true) {
    void* const pages = ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (pages == MAP_FAILED) std::abort();
  }
}
void loop() {
  std::atomic<int> turns = 0;
  while (true) ++turns;
}
void execute() {
  char* const none[] = {nullptr};
  ::execve("/bin/true", none, none);
}
/// A page of the first thread's stack, which stays one wherever it is.
void move_stack() {
  constexpr std::size_t kPage = 4096, kLarge = std::size_t{1} << 30;
  alignas(kPage) std::array<volatile char, 4 * kPage> room;
  room[kPage] = 1;
  void* const page = const_cast<char*>(&room[kPage]);
  if (::mremap(page, kPage, kLarge, MREMAP_MAYMOVE) == MAP_FAILED) std::abort();
  std::_Exit(0);
}
void start_threads() {
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 1 << 15);
  const auto sleep = [](void*) -> void* {
    sleep_on();
    return nullptr;
  };
  for (int i = 0; i < 3 * kThreadsMax / 2; ++i) {
    pthread_t thread{};
    ::pthread_create(&thread, &small, sleep, nullptr);
  }
}
void raise_limit() {
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  ::setrlimit(RLIMIT_DATA, &all);
}
void send_huge_outputs(SharedPages& pages) {
  protocol::Writer writer;
  write(writer, Answer{.outputs = {{tensor::DType::kFloat32, {1 << 15, 1 << 15}}}});
  const core::Bytes& head = writer.written();
  say(pages, Kind::kAnswer, static_cast<std::uint32_t>(head.size()), head);
}
/// Always has the next question in the ring, so that its parent never waits for it.
void ask_on(SharedPages& pages) {
  constexpr std::uint64_t kAhead = Ring::kBytes / 2;
  const core::Bytes head(sizeof(core::Digest) + sizeof(std::uint64_t));  // FindPack
  while (true) {
    pages.to_worker.read = pages.to_worker.written.load();
    if (pages.to_parent.written - pages.to_parent.read < kAhead) {
      say(pages, Kind::kFindPack, static_cast<std::uint32_t>(head.size()), head);
    }
  }
}

/// What it may not ask the system for.
void overstep(Deed deed) {
  constexpr std::size_t kPage = 4096;
  constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS, kShared = MAP_SHARED | MAP_ANONYMOUS;
  switch (deed) {
    case Deed::kShareMemory:
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, kShared, -1, 0);
      break;
    case Deed::kGrowStack:
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, kPrivate | MAP_GROWSDOWN, -1, 0);
      break;
    case Deed::kHideMemory:
      ::mprotect(std::aligned_alloc(kPage, kPage), kPage, PROT_READ);
      break;
    case Deed::kMoveStack:
      move_stack();
      break;
    case Deed::kOpen:
      ::syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
      break;
    case Deed::kSocket:
      ::socket(AF_INET, SOCK_STREAM, 0);
      break;
    case Deed::kExecute:
      execute();
      break;
    case Deed::kFork:
      ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
      break;
    case Deed::kTrace:
      ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr);
      break;
    case Deed::kKillParent:
      ::kill(::getppid(), SIGKILL);
      break;
    case Deed::kMakeCode:
      ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, kPrivate, -1, 0);
      break;
    case Deed::kOutlive:
      ::prctl(PR_SET_PDEATHSIG, 0);
      break;
    case Deed::kRaiseLimit:
      raise_limit();
      break;
    default:
      break;
  }
}

/// Before it goes on to sleep, where it still can.
void act(Deed deed, SharedPages& pages) {
  switch (deed) {
    case Deed::kSegfault:
      *static_cast<volatile int*>(nullptr) = 1;
      break;
    case Deed::kAbort:
      std::abort();
    case Deed::kEndQuietly:
      std::_Exit(0);
    case Deed::kTakeMemory:
      take_memory();
      break;
    case Deed::kMapMemory:
      map_memory();
      break;
    case Deed::kLoop:
      loop();
      break;
    case Deed::kStartThreads:
      start_threads();
      break;
    case Deed::kHugeOutputs:
      send_huge_outputs(pages);
      break;
    case Deed::kBreakRing:
      pages.to_parent.written += 5 * Ring::kBytes;
      ::send(kSocketFile, "", 1, MSG_DONTWAIT);
      break;
    case Deed::kWrongMessage:
      say(pages, static_cast<Kind>(77), 0, {});
      break;
    case Deed::kHugeHead:
      say(pages, Kind::kAnswer, UINT32_MAX, {});
      break;
    case Deed::kFlood:
      while (true) ::send(kSocketFile, "", 1, MSG_DONTWAIT);
    case Deed::kAsk:
      ask_on(pages);
      break;
    default:
      overstep(deed);
  }
}

class HostileEngine final : public rollout::Engine {
 public:
  HostileEngine(std::unique_ptr<rollout::Engine> honest, SharedPages& pages)
      : honest_(std::move(honest)), pages_(pages) {}
  const receipt::ModelRoots& roots() const override { return honest_->roots(); }
  const graph::Graph& graph() const override { return honest_->graph(); }
  Result<Values> run(std::uint64_t step, const Values& inputs,
                     const std::optional<noise::Noise>& noise,
                     const graph::RunOptions& options) override {
    int number = static_cast<int>(step);
    if (step == 1 && inputs[0].dtype() == tensor::DType::kFloat32 && inputs[0].elements() > 0) {
      number = static_cast<int>(inputs[0].data<float>()[0]);
    }
    if (number < static_cast<int>(Deed::kSegfault) || number > static_cast<int>(Deed::kLoopLater)) {
      return honest_->run(step, inputs, noise, options);
    }
    const auto deed = static_cast<Deed>(number);
    if (deed == Deed::kFewOutputs) return Values{};
    if (deed == Deed::kLoopLater) {
      std::thread(loop).detach();
      return honest_->run(2, inputs, noise, options);
    }
    act(deed, pages_);
    sleep_on();
    return Values{};
  }
  Result<rollout::Counsel> argue(const rollout::Argument& argument,
                                 const graph::RunOptions& options) override {
    const std::int64_t number = argument.setup.move_ms_max;
    auto counsel = honest_->argue(argument, options);
    if (!counsel || number < static_cast<int>(Deed::kSegfault) ||
        number >= static_cast<int>(Deed::kEnd)) {
      return counsel;
    }
    const auto deed = static_cast<Deed>(number);
    if (deed < Deed::kArgueNoise) {
      act(deed, pages_);
      sleep_on();
    }
    bend(deed, *counsel);
    return counsel;
  }

 private:
  /// Precondition: it is one of those of disputes, and the first move is due.
  void bend(Deed deed, rollout::Counsel& counsel) {
    if (deed == Deed::kArgueNoise) counsel.move = core::Bytes{1, 2, 3};
    if (deed == Deed::kArgueLong) counsel.move = core::Bytes(limits::kDisputeMoveBytesMax + 1);
    if (deed == Deed::kArgueOther) {
      auto move = *protocol::decode<arbiter::Move>(*counsel.move);
      auto body = *arbiter::decode_body<arbiter::ClaimBody>(move.body);
      body.claim.receipt_id[0] ^= 1;
      move.body = arbiter::encode_body(body);
      counsel.move = protocol::encode(move);
    }
    if (deed == Deed::kArgueHuge) {
      say(pages_, Kind::kArgued, limits::kWorkerCounselBytesMax + 1, {});
      sleep_on();
    }
    if (deed == Deed::kArgueRun) {
      say(pages_, Kind::kAnswer, 0, {});
      sleep_on();
    }
  }

  std::unique_ptr<rollout::Engine> honest_;
  SharedPages& pages_;
};

class GatePacer final : public core::Pacer {
 public:
  GatePacer(core::SharedMemory memory, std::atomic<std::int32_t>& resting,
            std::function<bool()> is_cancelled)
      : memory_(std::move(memory)), resting_(resting), is_cancelled_(std::move(is_cancelled)) {}
  bool pace(std::int64_t) override {
    const auto* const open =
        reinterpret_cast<const std::atomic<std::uint32_t>*>(memory_.bytes().data());
    const timespec piece{0, 1'000'000};
    ++resting_;
    while (*open == 0 && !is_cancelled_()) ::nanosleep(&piece, nullptr);
    --resting_;
    return true;
  }

 private:
  core::SharedMemory memory_;
  std::atomic<std::int32_t>& resting_;
  std::function<bool()> is_cancelled_;
};

}  // namespace

int work_paced() {
  Inside inside;
  inside.pacer = [](core::Descriptor page, std::atomic<std::int32_t>& resting,
                    std::function<bool()> is_cancelled) {
    auto memory = core::SharedMemory::map(std::move(page), 4096, core::SharedMemory::Access::kRead);
    return std::make_unique<GatePacer>(*std::move(memory), resting, std::move(is_cancelled));
  };
  return work(inside);
}

int be_parent(const core::Path& model) {
  ProcessOptions options;
  options.program.word = kHostileWord;
  ProcessEngineFactory factory(std::move(options));
  const auto engine = factory.load(model, {});
  if (!engine) return 1;
  std::vector<std::int64_t> dims = (*engine)->graph().values[0].declared.dims;
  for (std::int64_t& dim : dims) dim = std::max<std::int64_t>(dim, 1);
  const auto shape = *tensor::Shape::of(dims);
  const std::vector<float> zeros(static_cast<std::size_t>(shape.elements()), 0);
  (void)(*engine)->run(static_cast<std::uint64_t>(Deed::kLoop),
                       {tensor::Tensor::of<float>(shape, zeros)}, std::nullopt);
  return 0;
}

int work_hostile() {
  auto memory =
      core::SharedMemory::map(core::Descriptor(::fcntl(kPagesFile, F_DUPFD_CLOEXEC, kPaceFile + 1)),
                              sizeof(SharedPages), core::SharedMemory::Access::kReadWrite);
  if (!memory) return 1;
  auto& pages = *reinterpret_cast<SharedPages*>(memory->bytes().data());
  Inside inside;
  inside.engine =
      [&pages](
          std::shared_ptr<const core::MappedFile> model, const graph::SessionOptions& session,
          const std::vector<protocol::Feed>& feeds) -> Result<std::unique_ptr<rollout::Engine>> {
    COMMENSAL_ASSIGN(rollout::Loaded made, rollout::load(std::move(model), session, feeds));
    return std::make_unique<HostileEngine>(
        std::make_unique<rollout::SessionEngine>(std::move(made.session), std::move(made.leaves)),
        pages);
  };
  return work(inside);
}

}  // namespace commensal::worker::testing
