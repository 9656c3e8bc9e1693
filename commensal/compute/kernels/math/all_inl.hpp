// SPDX-License-Identifier: Apache-2.0
// No #pragma once and no namespace: whoever includes this does so inside a namespace of its own,
// once for every instruction set (Highway needs the code itself between its target pragmas), and
// includes <cstdint> and its lanes type (lanes.hpp says what that must have) before it.
// Plain C++: math/scalar.hpp. Every function is marked COMMENSAL_DEVICE, which is for CUDA.
#include <commensal/compute/kernels/math/device.hpp>

// Uses the mark above.
#include <commensal/compute/kernels/math/basic_inl.hpp>

// Uses the file above.
#include <commensal/compute/kernels/math/exp_inl.hpp>

// Uses both.
#include <commensal/compute/kernels/math/log_inl.hpp>
#include <commensal/compute/kernels/math/winograd_inl.hpp>

// Use all functions above.
#include <commensal/compute/kernels/math/trig_inl.hpp>

// Uses all of these.
#include <commensal/compute/kernels/math/hyperbolic_inl.hpp>
