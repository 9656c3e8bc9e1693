// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/plan.hpp>

/// As ops.hpp, the operators that came late: those that opsets 17 to 24 brought, and norms.
namespace commensal::kernels::ref {

// affine_grid.cpp
Columns affine_grid();
Columns max_roi_pool();

// attention.cpp
Columns attention();

// bitwise.cpp
Columns bitwise_and();
Columns bitwise_not();
Columns bitwise_or();
Columns bitwise_xor();

// caches.cpp
Columns center_crop_pad();
Columns rotary_embedding();
Columns tensor_scatter();

// col2im.cpp
Columns col2im();

// deform_conv.cpp
Columns deform_conv();

// fourier.cpp
Columns dft();
Columns stft();

// gelu.cpp
Columns gelu();
Columns mish();
Columns swish();

// layer_norm.cpp
Columns group_normalization();

// lp_pool.cpp
Columns global_lp_pool();
Columns lp_pool();

// vector_norm.cpp
Columns lp_normalization();
Columns mean_variance_normalization();
Columns rms_normalization();

// windows.cpp
Columns blackman_window();
Columns hamming_window();
Columns hann_window();
Columns mel_weight_matrix();

}  // namespace commensal::kernels::ref
