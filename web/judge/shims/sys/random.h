// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

/// As Linux has it, for the generator in whose file philox4x32() is. Nothing here asks it.
inline ssize_t getrandom(void* to, size_t size, unsigned /*flags*/) {
  return getentropy(to, size) == 0 ? static_cast<ssize_t>(size) : -1;
}
