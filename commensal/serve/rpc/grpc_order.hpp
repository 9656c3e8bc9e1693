// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SANITIZE_THREAD__)
#define COMMENSAL_SEES_ORDER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COMMENSAL_SEES_ORDER 1
#endif
#endif
#if defined(COMMENSAL_SEES_ORDER)
#include <sanitizer/tsan_interface.h>
#endif

/// gRPC runs the reaction to an operation (On...) on any of its threads, after whatever was done
/// before the operation was started. It is compiled without ThreadSanitizer, which cannot see that
/// order and is told of it here; without that sanitizer these do nothing. Thread-safety: any.
namespace commensal::rpc {

/// Last, before an operation is started; `what` names it.
inline void hand_to_grpc([[maybe_unused]] void* what) {
#if defined(COMMENSAL_SEES_ORDER)
  __tsan_release(what);
#endif
}

/// First in its reaction.
inline void take_from_grpc([[maybe_unused]] void* what) {
#if defined(COMMENSAL_SEES_ORDER)
  __tsan_acquire(what);
#endif
}

}  // namespace commensal::rpc
