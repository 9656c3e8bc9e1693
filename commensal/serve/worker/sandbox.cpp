// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <commensal/serve/worker/sandbox.hpp>
#include <csignal>
#include <cstring>

namespace commensal::worker {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

// Sanitizers reserve terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsMemory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif
#else
constexpr bool kLimitsMemory = true;
#endif

tl::unexpected<core::Error> refused(std::string_view what, int number) {
  return fail(ErrorCode::kUnavailable, "the system refuses a worker {}: {}", what,
              std::strerror(number));
}

Result<void> limit(int resource, std::string_view what, std::int64_t value) {
  const rlimit both{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0) return {};
  rlimit now{};
  const bool is_held = ::getrlimit(static_cast<__rlimit_resource>(resource), &now) == 0 &&
                       now.rlim_cur <= both.rlim_cur;
  if (is_held) return {};  // somebody has given less already
  return refused(what, errno);
}

/// Memory that is written is counted as data; addresses are bounded for the tables of pages behind
/// them. Files are mapped beside data, and the allocator reserves 128 MiB for each thread.
Result<void> limit_memory(std::int64_t data_bytes_max) {
  constexpr std::int64_t kReserved = std::int64_t{1} << 37;
  COMMENSAL_TRY(limit(RLIMIT_DATA, "its limit of memory", data_bytes_max));
  return limit(RLIMIT_AS, "its limit of addresses", 4 * data_bytes_max + kReserved);
}

/// Nothing else of the machine is in sight: an empty folder for a root, no network, no messages of
/// others.
bool leave_namespaces() {
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  constexpr int kOthers = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  const char* const empty = "/tmp";
  return ::unshare(kOthers) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", empty, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=0") ==
             0 &&
         ::chroot(empty) == 0 && ::chdir("/") == 0;
}

/// What root may do, or who has a namespace of users of its own.
bool give_up_rights() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return ::syscall(SYS_capset, &head, none.data()) == 0;
}

/// A condition on the argument `place` of a call.
constexpr scmp_arg_cmp equals(unsigned place, std::uint64_t value) {
  return {place, SCMP_CMP_EQ, value, 0};
}
constexpr scmp_arg_cmp masked(unsigned place, std::uint64_t mask, std::uint64_t value) {
  return {place, SCMP_CMP_MASKED_EQ, mask, value};
}

/// What a computation needs of the kernel, and what ends it in order. A call that is not here, or
/// not as here, is the last one. (With clone3 unknown, which hides its flags in memory, glibc takes
/// clone.)
class CallList {
 public:
  CallList() : filter_(::seccomp_init(SCMP_ACT_KILL_PROCESS)) {}
  CallList(const CallList&) = delete;
  CallList& operator=(const CallList&) = delete;
  ~CallList() { ::seccomp_release(filter_); }

  Result<void> enforce() {
    allow_plain();
    allow_memory();
    allow_threads();
    if (failure_ == 0) failure_ = ::seccomp_load(filter_);
    return failure_ == 0 ? Result<void>() : refused("its list of system calls", -failure_);
  }

 private:
  void allow_plain() {
    constexpr const char* kCalls[] = {
        "futex",           "clock_gettime", "clock_getres",   "gettimeofday",    "nanosleep",
        "clock_nanosleep", "sched_yield",   "getcpu",         "getpid",          "gettid",
        "getrandom",       "sysinfo",       "rt_sigprocmask", "rt_sigreturn",    "rt_sigaction",
        "sigaltstack",     "poll",          "ppoll",          "recvmsg",         "close",
        "lseek",           "exit",          "exit_group",     "restart_syscall",
    };
    for (const char* call : kCalls) allow(call);
    // A sanitizer asks of memory whether it is there, and says what it has found.
    if (!kLimitsMemory) allow("pipe2"), allow("write");
    // A wake-up, along the one connection that there is.
    allow("sendto", {equals(4, 0)});
  }
  void allow_memory() {
    constexpr const char* kCalls[] = {"brk", "munmap", "madvise"};
    for (const char* call : kCalls) allow(call);
    // Its own, and files; never code, nor memory that no limit counts: RLIMIT_DATA passes over what
    // is shared, over stacks, which a mapping may grow as, and over what cannot be written now.
    allow("mmap", {masked(2, PROT_EXEC, 0), masked(3, MAP_TYPE | MAP_GROWSDOWN, MAP_PRIVATE)});
    if (kLimitsMemory) {
      allow("mprotect", {equals(2, PROT_READ | PROT_WRITE)});  // what the allocator has reserved
    } else {
      allow("mprotect", {masked(2, PROT_EXEC, 0)});
    }
    forget("mremap");  // would make the first thread's stack larger; the allocator does without
  }
  void allow_threads() {
    constexpr const char* kCalls[] = {"set_robust_list", "rseq"};
    for (const char* call : kCalls) allow(call);
    const auto self = static_cast<std::uint64_t>(::getpid());
    // Threads of this process, no processes.
    allow("clone", {masked(0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM)});
    forget("clone3");
    allow("tgkill", {equals(0, self)});
    allow("sched_getaffinity");
    allow("sched_setaffinity", {equals(0, 0)});
    allow("prctl", {equals(0, PR_SET_NAME)});
  }

  void allow(const char* call, std::initializer_list<scmp_arg_cmp> conditions = {}) {
    note(::seccomp_rule_add_array(filter_, SCMP_ACT_ALLOW, number_of(call),
                                  static_cast<unsigned>(conditions.size()), conditions.begin()));
  }
  /// As if the kernel did not have it.
  void forget(const char* call) {
    note(::seccomp_rule_add_array(filter_, SCMP_ACT_ERRNO(ENOSYS), number_of(call), 0, nullptr));
  }
  /// Here, whatever the machine is.
  static int number_of(const char* call) { return ::seccomp_syscall_resolve_name(call); }
  void note(int failure) {
    if (failure_ == 0) failure_ = failure;
  }

  scmp_filter_ctx filter_;
  int failure_ = 0;
};

}  // namespace

Result<std::string> confine(std::int64_t data_bytes_max) {
  const bool has_namespaces = leave_namespaces();
  const int namespaces_errno = errno;
  if (!give_up_rights()) return refused("to give up its rights", errno);
  // After the namespaces, whose new rights would take it back.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return refused("its end with its parent", errno);
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return refused("to be no one's to read", errno);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("to gain no rights", errno);
  COMMENSAL_TRY(limit(RLIMIT_CORE, "no core", 0));
  COMMENSAL_TRY(limit(RLIMIT_FSIZE, "no files", 0));
  COMMENSAL_TRY(limit(RLIMIT_MEMLOCK, "no locked memory", 0));
  if (kLimitsMemory) COMMENSAL_TRY(limit_memory(data_bytes_max));
  // What the parent has not seen yet. Its own alone are counted only where its users are its own.
  if (has_namespaces) COMMENSAL_TRY(limit(RLIMIT_NPROC, "its limit of threads", 2 * kThreadsMax));
  COMMENSAL_TRY(CallList().enforce());
  if (has_namespaces) return std::string();
  return fmt::format(
      "the system grants workers no namespaces of their own ({}); the list of "
      "system calls holds them alone",
      std::strerror(namespaces_errno));
}

}  // namespace commensal::worker
