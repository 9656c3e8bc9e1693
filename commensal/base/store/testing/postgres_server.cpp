// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <commensal/base/core/check.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/spawn.hpp>
#include <commensal/base/store/testing/postgres_server.hpp>
#include <fstream>
#include <sstream>
#include <thread>

namespace commensal::store::testing {
namespace {

namespace fs = std::filesystem;

const core::Path kPrograms = "/usr/lib/postgresql/15/bin";  // Debian's
constexpr int kNobody = 65534;                              // Debian's nobody and nogroup

/// The server refuses to run as root.
std::vector<std::string> unprivileged(std::vector<std::string> command) {
  if (::geteuid() != 0) return command;
  std::vector<std::string> all = {"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
                                  "--pdeathsig=KILL"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

pid_t launch(const std::vector<std::string>& command, const core::Path& log, int out = -1) {
  const core::Descriptor file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const auto pid =
      core::spawn({.command = command,
                   .files = {core::Spawn::kNothing, out < 0 ? file.get() : out, file.get()},
                   .death_signal = SIGKILL});
  core::check(pid.has_value(), "a program of PostgreSQL starts");
  return *pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Process {
  char state = 0;  // proc(5); 0: it is gone
  pid_t parent = 0;
};

Process look_at(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  // Not by a buffer's iterators: of a process that has ended meanwhile they throw.
  std::string all;
  std::getline(file, all, '\0');
  Process found;
  const std::size_t end = all.rfind(')');  // of its name
  if (end != std::string::npos) {
    std::istringstream(all.substr(end + 1)) >> found.state >> found.parent;
  }
  return found;
}

/// Each leads a session of its own, so that no signal reaches them together.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (look_at(name).parent == parent) found.push_back(std::stoi(name));
  }
  return found;
}

}  // namespace

std::optional<std::string> PostgresServer::missing_package() {
  if (fs::exists(kPrograms / "postgres")) return std::nullopt;
  return "needs postgresql-15";
}

PostgresServer::PostgresServer() : folder_(core::TemporaryFolder::make("commensal-pg").value()) {
  const core::Path word = folder() / "password";
  std::ofstream(word) << kPassword << "\n";
  if (::geteuid() == 0) {
    for (const core::Path& path : {folder(), word}) {
      core::check(::chown(path.c_str(), kNobody, kNobody) == 0, "chown");
    }
  }
  const int status = wait_for(launch(
      unprivileged({kPrograms / "initdb", "-D", folder() / "data", "-U", "gateway", "-A",
                    "scram-sha-256", "--pwfile", word, "--no-locale", "-E", "UTF8", "--no-sync"}),
      folder() / "initdb.log"));
  core::check(status == 0, "initdb");
  start();
}

PostgresServer::~PostgresServer() {
  if (pid_ == 0) return;
  resume();
  ::kill(pid_, SIGINT);  // without waiting for clients
  wait_for(pid_);
}

std::string PostgresServer::url(const std::string& password, const std::string& database) const {
  return fmt::format("postgresql://gateway:{}@/{}?host={}", password, database, folder().string());
}

void PostgresServer::start() {
  pid_ =
      launch(unprivileged({kPrograms / "postgres", "-D", folder() / "data", "-k", folder().string(),
                           "-c", "listen_addresses=", "-c", "shared_buffers=16MB"}),
             folder() / "server.log");
  for (int tries = 0; tries < 1000; ++tries) {
    if (psql("SELECT 1") == "1\n") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  core::check(false, "the server is up");
}

std::string PostgresServer::psql(const std::string& statements) const {
  int ends[2];
  core::check(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
  const core::Descriptor out(ends[0]);
  core::Descriptor in(ends[1]);
  const pid_t pid =
      launch({kPrograms / "psql", "-XAtqc", statements, url()}, folder() / "psql.log", in.get());
  in = core::Descriptor();
  std::string said;
  for (char c = 0; ::read(out.get(), &c, 1) == 1;) said.push_back(c);
  wait_for(pid);
  return said;
}

void PostgresServer::signal_all(int number) const {
  const std::vector<pid_t> children = children_of(pid_);
  ::kill(pid_, number);
  for (const pid_t child : children) ::kill(child, number);
}

void PostgresServer::kill() {
  ::kill(pid_, SIGSTOP);  // so that no more are made
  const std::vector<pid_t> children = children_of(pid_);
  signal_all(SIGKILL);
  wait_for(pid_);
  pid_ = 0;
  for (const pid_t child : children) {
    const auto lives = [&] {
      const char state = look_at(std::to_string(child)).state;
      return state != 0 && state != 'Z';
    };
    while (lives()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace commensal::store::testing
