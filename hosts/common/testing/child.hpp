// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

/// A program of hosts/ as a child, and a request to its server.
namespace hosts::common::testing {

class Child {
 public:
  explicit Child(const std::string& program, std::vector<std::string> arguments) {
    int out[2];
    int err[2];
    if (pipe(out) != 0 || pipe(err) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      (void)dup2(out[1], 1);
      (void)dup2(err[1], 2);
      for (const int end : {out[0], out[1], err[0], err[1]}) (void)close(end);
      std::vector<char*> argv = {const_cast<char*>(program.c_str())};
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      (void)execv(program.c_str(), argv.data());
      _exit(127);
    }
    (void)close(out[1]);
    (void)close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      (void)kill(pid_, SIGKILL);
      (void)waitpid(pid_, nullptr, 0);
    }
    (void)close(out_);
    (void)close(err_);
  }

  std::string read_line() { return read(out_, true); }
  std::string read_rest() { return read(out_, false); }
  std::string read_errors() { return read(err_, false); }
  void signal(int number) const { (void)kill(pid_, number); }
  /// Exit status, or 128 plus the signal.
  int wait() {
    int status = 0;
    (void)waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  static std::string read(int from, bool only_a_line) {
    std::string text;
    for (char c = 0; ::read(from, &c, 1) == 1 && !(only_a_line && c == '\n');) text.push_back(c);
    return text;
  }

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

/// All that 127.0.0.1:`port` answers to `request`; "" where nobody listens.
inline std::string ask(unsigned port, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    (void)!write(fd, request.data(), request.size());
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
  }
  (void)close(fd);
  return answer;
}

inline std::string get(unsigned port, const std::string& target) {
  return ask(port, "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

/// What follows the head of an answer.
inline std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

}  // namespace hosts::common::testing
