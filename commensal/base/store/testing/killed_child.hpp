// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <commensal/base/core/check.hpp>
#include <functional>
#include <type_traits>

/// For tests of what must outlive a kill.
namespace commensal::store::testing {

/// Runs `work` in a child and kills it (SIGKILL) `delay_us` after its first word. `work` says a
/// word after each write that is durable, and goes on until it is killed: where it returns, the
/// test fails, and what it returned stands in the message.
/// Returns the last word said, `none` where there was none.
template <class Word>
Word last_word_of_killed(
    Word none, std::uint32_t delay_us,
    const std::function<int(const std::function<void(std::type_identity_t<Word>)>& say)>& work) {
  static_assert(std::is_trivially_copyable_v<Word> && sizeof(Word) <= _POSIX_PIPE_BUF,
                "a pipe takes a word whole or not at all");
  int ends[2];
  core::check(::pipe(ends) == 0, "pipe");
  const pid_t child = ::fork();
  core::check(child >= 0, "fork");
  if (child == 0) {
    ::close(ends[0]);
    const auto say = [&](Word word) {
      if (::write(ends[1], &word, sizeof word) != sizeof word) ::_exit(100);
    };
    ::_exit(work(say));
  }
  ::close(ends[1]);
  Word last = none, word = none;
  const auto heard = [&] { return ::read(ends[0], &word, sizeof word) == sizeof word; };
  if (heard()) last = word;  // it is up
  ::usleep(delay_us);
  ::kill(child, SIGKILL);
  while (heard()) last = word;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child gave up with " << WEXITSTATUS(status);
  return last;
}

}  // namespace commensal::store::testing
