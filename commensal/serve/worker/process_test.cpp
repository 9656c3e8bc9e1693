// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/onnx/testing/model_files.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <commensal/serve/worker/testing/hostile.hpp>
#include <commensal/serve/worker/testing/twins.hpp>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <thread>

// How workers live beside their parent: rank, pace, shared weights, and the end of either.

namespace commensal::worker {
namespace {

namespace fs = std::filesystem;
using receipt::Values;
using tensor::Tensor;

const core::Path kDigits = core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx";

Values pixels() { return {Tensor::of<float>({1, 1, 8, 8}, std::vector<float>(64, 0.25f))}; }

/// Polls until it holds, for as long as a busy machine may take.
bool comes_true(const std::function<bool()>& holds) {
  const core::SystemClock clock;
  const std::int64_t end_ns = clock.monotonic_ns() + 20'000'000'000;
  while (!holds()) {
    if (clock.monotonic_ns() > end_ns) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Of a process, by proc(5); what has ended has none.
std::set<pid_t> children_of(pid_t parent) {
  std::set<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    if (!std::isdigit(static_cast<unsigned char>(entry.path().filename().c_str()[0]))) continue;
    std::ifstream file(entry.path() / "stat");
    std::string all;
    std::getline(file, all, '\0');  // a buffer's iterators throw where it has ended meanwhile
    const std::size_t end = all.rfind(')');
    if (end == std::string::npos) continue;
    char state = 0;
    int its_parent = 0;
    if (std::sscanf(all.c_str() + end + 2, "%c %d", &state, &its_parent) == 2 && state != 'Z' &&
        its_parent == parent) {
      found.insert(std::stoi(entry.path().filename()));
    }
  }
  return found;
}

TEST(WorkerProcess, InheritsTheRankOfItsStarter) {
  Starter starter([] {
    const sched_param none{};
    ASSERT_EQ(::sched_setscheduler(0, SCHED_IDLE, &none), 0);
  });
  const core::Descriptor nothing(::dup(0));
  auto process = starter.start({"/bin/sleep", "60"}, {nothing.get()});
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(::sched_getscheduler(process->pid()), SCHED_IDLE);
  EXPECT_EQ(::getpgid(process->pid()), process->pid());  // no Ctrl-C of ours reaches it
  EXPECT_TRUE(process->is_alive());
  EXPECT_EQ(process->end(), "it was ended by SIGKILL");
  EXPECT_FALSE(process->is_alive());
}

TEST(WorkerProcess, IsOfferedNoDescriptorsButItsOwn) {
  const core::Descriptor secret(::dup(0));  // not even closed on exec
  Starter starter({});
  auto process = starter.start({"/bin/sleep", "60"}, {secret.get(), secret.get()});
  ASSERT_TRUE(process);
  const fs::path files = fmt::format("/proc/{}/fd", process->pid());
  ASSERT_TRUE(comes_true([&] {  // it has begun
    return fs::read_symlink(fmt::format("/proc/{}/exe", process->pid())).filename() != "";
  }));
  std::set<std::string> names;
  ASSERT_TRUE(comes_true([&] {
    names.clear();
    for (const auto& entry : fs::directory_iterator(files)) names.insert(entry.path().filename());
    return names.size() == 5;
  }));
  EXPECT_THAT(names, ::testing::ElementsAre("0", "1", "2", "3", "4"));
}

TEST(WorkerProcess, InheritsNoSecrets) {
  ::setenv("COMMENSAL_TOKEN", "secret", 1);
  const core::Descriptor nothing(::dup(0));
  auto process = Process::start({"/bin/sleep", "60"}, {nothing.get()});
  ::unsetenv("COMMENSAL_TOKEN");
  ASSERT_TRUE(process);
  std::ifstream file(fmt::format("/proc/{}/environ", process->pid()));
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(all.find("COMMENSAL_TOKEN"), std::string::npos);
}

/// By trying it, as a worker does: its user, and all that a new one may.
bool system_grants_namespaces() {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool has_them =
        ::unshare(CLONE_NEWUSER) == 0 &&
        ::unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0 &&
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("none", "/tmp", "tmpfs", MS_RDONLY, "size=0") == 0;
    ::_exit(has_them ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(WorkerProcess, CannotBeStartedFromNothing) {
  ProcessOptions options;
  options.program = {"/nowhere/program", ""};
  ProcessEngineFactory factory(options);
  const auto made = factory.load(kDigits, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kUnavailable);
  options.program.path = "/bin/true";
  ProcessEngineFactory other(options);
  const auto lost = other.load(kDigits, {});
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, ::testing::HasSubstr("it ended with status 0"));
}

// A second process has a worker that loops; then it is killed and can end nothing in order.
TEST(WorkerProcess, EndsWithItsParent) {
  const core::Descriptor nothing(::dup(0));
  auto parent =
      Process::start({"/proc/self/exe", std::string(testing::kParentWord)}, {nothing.get()});
  ASSERT_TRUE(parent);
  std::set<pid_t> workers;
  ASSERT_TRUE(comes_true([&] { return !(workers = children_of(parent->pid())).empty(); }));
  const pid_t worker = *workers.begin();
  // It loops once it has used some time of the processor.
  ASSERT_TRUE(comes_true([&] { return core::child_cpu_ns(worker) > 500'000'000; }));
  parent->end();
  EXPECT_TRUE(comes_true([&] { return ::kill(worker, 0) != 0; }));
}

// A thread that a model has left behind goes on only while its worker is asked, where it is in the
// place of one that may be there; else it is not there when the next is asked.
TEST(WorkerProcess, UsesNoProcessorWhileNothingIsAsked) {
  ProcessOptions options;
  options.program.word = testing::kHostileWord;
  options.session.backend = graph::Backend::kRef;  // takes one thread, whatever it may have
  options.session.threads = 2;
  ProcessEngineFactory factory(std::move(options));
  const auto engine = *factory.load(kDigits, {});
  const auto workers = children_of(::getpid());
  ASSERT_EQ(workers.size(), 1);
  const auto loop_later = static_cast<std::uint64_t>(testing::Deed::kLoopLater);
  EXPECT_TRUE(engine->run(loop_later, pixels(), std::nullopt));
  EXPECT_TRUE(comes_true([&] {
    const std::int64_t begin_ns = core::child_cpu_ns(*workers.begin());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return core::child_cpu_ns(*workers.begin()) == begin_ns;
  }));
  EXPECT_EQ(children_of(::getpid()), workers);
  EXPECT_TRUE(engine->run(loop_later, pixels(), std::nullopt));
  EXPECT_TRUE(children_of(::getpid()).empty());
  EXPECT_TRUE(engine->run(1, pixels(), std::nullopt));
  EXPECT_EQ(children_of(::getpid()).size(), 1);
}

std::string allowed_processors(pid_t process) {
  std::ifstream file(fs::path("/proc") / std::to_string(process) / "status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Cpus_allowed_list:")) return line.substr(line.rfind('\t') + 1);
  }
  return "";
}

TEST(WorkerProcess, RunsAModelAsItIsFitted) {
  const auto folder = *core::TemporaryFolder::make("fitted");
  const core::Path other = folder.path() / "other.onnx";
  core::Bytes bytes = *core::read_file(kDigits);
  // Another file of the same model: a field that nobody knows.
  bytes.insert(bytes.end(), {0xfa, 0x01, 0x00});
  ASSERT_TRUE(core::write_file_atomically(other, bytes));
  ProcessOptions options;
  options.fits[crypto::sha256(bytes)] = {3, {0}};
  ProcessEngineFactory factory(std::move(options));
  const auto usual = *factory.load(kDigits, {});
  const auto before = children_of(::getpid());
  ASSERT_EQ(before.size(), 1);
  const auto fitted = *factory.load(other, {});
  auto workers = children_of(::getpid());
  workers.erase(*before.begin());
  ASSERT_EQ(workers.size(), 1);
  EXPECT_EQ(allowed_processors(*before.begin()), allowed_processors(::getpid()));
  EXPECT_EQ(allowed_processors(*workers.begin()), "0");
  const auto one = usual->run(1, pixels(), std::nullopt),
             two = fitted->run(1, pixels(), std::nullopt);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(core::to_hex((*one)[0].bytes()), core::to_hex((*two)[0].bytes()));
  EXPECT_EQ(children_of(::getpid()).size(), 2);  // three threads are not too many for it
}

// Else each request would start one.
TEST(WorkerProcess, IsTheSameForAllRequests) {
  for (const int threads : {1, 3}) {
    ProcessOptions options;
    options.session.threads = threads;
    ProcessEngineFactory factory(std::move(options));
    const auto engine = *factory.load(kDigits, {});
    const auto workers = children_of(::getpid());
    for (std::uint64_t i = 0; i < 10; ++i) {
      EXPECT_TRUE(engine->run(1, pixels(), std::nullopt));
      EXPECT_EQ(children_of(::getpid()), workers);
    }
  }
}

TEST(WorkerProcess, SaysOnceWhatTheSystemDoesNotGrant) {
  const bool has_namespaces = system_grants_namespaces();
  std::vector<std::string> said;
  {
    ProcessOptions options;
    options.say = [&](const std::string& line) { said.push_back(line); };
    ProcessEngineFactory factory(std::move(options));
    const auto one = factory.load(kDigits, {}), other = factory.load(kDigits, {});
    ASSERT_TRUE(one && other);
    const auto workers = children_of(::getpid());
    ASSERT_EQ(workers.size(), 2);
    if (has_namespaces) {
      for (const std::string name : {"user", "mnt", "net", "ipc", "uts"}) {
        const auto its = [&](const std::string& who) {
          return fs::read_symlink("/proc/" + who + "/ns/" + name);
        };
        EXPECT_NE(its(std::to_string(*workers.begin())), its("self")) << name;
      }
    }
  }
  EXPECT_EQ(said.size(), has_namespaces ? 0 : 1);
  EXPECT_TRUE(children_of(::getpid()).empty());  // none is left, not even dead
}

/// The parent's page of these tests: above 0 threads may work.
class Gate {
 public:
  std::atomic<std::uint32_t>& open() const {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(memory_->bytes().data());
  }
  const core::SharedMemory* memory() const { return &*memory_; }

 private:
  core::Result<core::SharedMemory> memory_ = core::SharedMemory::create(4096);
};

ProcessOptions paced(const Gate& gate, std::atomic<bool>& rests) {
  ProcessOptions options;
  options.program.word = testing::kPacedWord;
  options.pace = gate.memory();
  options.tell_rest = [&](bool now) { rests = now; };
  return options;
}

TEST(WorkerProcess, IsHeldByItsParentsPacer) {
  const Gate gate;
  std::atomic<bool> rests = false, is_done = false;
  auto options = paced(gate, rests);
  options.still_ms_max = 100;  // it does nothing, for a reason
  options.is_held = [&] { return gate.open() == 0; };
  ProcessEngineFactory factory(std::move(options));
  const auto engine = *factory.load(kDigits, {});
  std::thread runs([&] {
    EXPECT_TRUE(engine->run(1, pixels(), std::nullopt));
    is_done = true;
  });
  EXPECT_TRUE(comes_true([&] { return rests.load(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(is_done);
  gate.open() = 1;
  runs.join();
  EXPECT_FALSE(rests);
}

// The host is gone before the guest has heard that nobody waits for it.
TEST(WorkerProcess, HearsThatItIsCancelledWhereItIsHeld) {
  const Gate gate;
  std::atomic<bool> rests = false;
  ProcessEngineFactory factory(paced(gate, rests));
  const auto engine = *factory.load(kDigits, {});
  const auto workers = children_of(::getpid());
  std::stop_source cancel;
  std::thread later([&] {
    EXPECT_TRUE(comes_true([&] { return rests.load(); }));
    cancel.request_stop();
  });
  const auto made = engine->run(1, pixels(), std::nullopt, {.cancel = cancel.get_token()});
  later.join();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kCancelled);
  EXPECT_EQ(children_of(::getpid()), workers);  // it has not cost the worker
}

TEST(WorkerProcess, LoadsNothingWhereItCannotBeHeld) {
  const Gate gate;
  std::atomic<bool> rests = false;
  auto options = paced(gate, rests);
  options.program.word = kWorkerWord;  // has no pacer
  ProcessEngineFactory without(options);
  options = paced(gate, rests);
  options.pace = nullptr;  // nor has its parent such memory
  options.is_held = [] { return false; };
  ProcessEngineFactory other(options);
  for (auto* factory : {&without, &other}) {
    const auto made = factory->load(kDigits, {});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, core::ErrorCode::kUnavailable);
  }
}

class WorkerPacks : public ::testing::Test {
 protected:
  core::Path model(const std::string& name) {
    const core::Path path = folder_->path() / (name + ".onnx");
    const std::string file = graph::onnx::testing::packed_file(name);
    EXPECT_TRUE(core::write_file_atomically(path, core::as_bytes(file)));
    return path;
  }
  Values answer(rollout::EngineFactory& factory, const core::Path& model) {
    const auto engine = factory.load(model, {});
    EXPECT_TRUE(engine);
    const Values inputs = {Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})};
    return *(*engine)->run(1, inputs, std::nullopt);
  }
  std::map<core::Path, fs::file_time_type> files() const {
    std::map<core::Path, fs::file_time_type> found;
    for (const auto& entry : fs::directory_iterator(packs_)) {
      found[entry.path()] = entry.last_write_time();
    }
    return found;
  }

  core::Result<core::TemporaryFolder> folder_ = core::TemporaryFolder::make("worker-test");
  const core::Path packs_ = folder_->path() / "packs";
};

TEST_F(WorkerPacks, AreKeptAndMappedByTheNext) {
  rollout::SessionEngineFactory plain({});
  graph::SessionOptions session;
  session.packs = std::make_shared<const graph::PackFolder>(packs_);
  ProcessEngineFactory factory({.session = session});
  const core::Path one = model("one");
  const Values expected = answer(plain, one);
  const auto same = [&](const Values& made) {
    return std::ranges::equal(made[0].bytes(), expected[0].bytes());
  };
  EXPECT_TRUE(same(answer(factory, one)));
  const auto kept = files();
  ASSERT_FALSE(kept.empty());
  for (const auto& [path, time] : kept) fs::last_write_time(path, time - std::chrono::hours(1));
  EXPECT_TRUE(same(answer(factory, one)));
  EXPECT_EQ(files().size(), kept.size());
  for (const auto& [path, time] : files()) EXPECT_GT(time, kept.at(path) - std::chrono::minutes(1));
  // The same weights in another model are not its files: workers do not believe each other.
  EXPECT_TRUE(same(answer(factory, model("another"))));
  EXPECT_EQ(files().size(), 2 * kept.size());
  factory.forget(crypto::sha256(*core::read_file(one)));
  EXPECT_EQ(files().size(), kept.size());
  for (const auto& [path, time] : files()) EXPECT_FALSE(kept.contains(path));
}

TEST_F(WorkerPacks, GoWithTheirModelWhoeverPackedThem) {
  graph::SessionOptions session;
  session.packs = std::make_shared<const graph::PackFolder>(packs_);
  const core::Path one = model("one");
  for (const auto make : {testing::InThread::make, testing::InProcess::make}) {
    const auto factory = make(session);
    (void)answer(*factory, one);
    const auto kept = files();
    ASSERT_FALSE(kept.empty());
    (void)answer(*factory, model("another"));
    EXPECT_EQ(files().size(), 2 * kept.size());
    factory->forget(crypto::sha256(*core::read_file(one)));
    EXPECT_EQ(files().size(), kept.size());
    for (const auto& [path, time] : files()) EXPECT_FALSE(kept.contains(path));
    factory->forget(crypto::sha256(*core::read_file(model("another"))));
    EXPECT_TRUE(files().empty());
  }
}

}  // namespace
}  // namespace commensal::worker
