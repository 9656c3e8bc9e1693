// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/ops_newer.hpp>

/// How the table is written: rows in groups, one file each, by what they do.
namespace commensal::kernels {

/// The fast back end's columns: the kernel, and what packs its constants.
struct CpuColumns {
  KernelFn kernel = nullptr;
  PackFn pack = nullptr;
};

/// One row: `since` and `until` are opsets (until 0: still in force).
struct Row {
  std::string_view name;
  int since = 1, until = 0;
  int inputs_min = 1, inputs_max = 1, outputs_max = 1;
  Kind kind = Kind::kElementwise;
  ref::Columns columns;
  CpuColumns cpu = {};
  std::string_view domain = {};  // "" is the default ONNX domain
  Strings strings = Strings::kRefused;  // kCodes: set by the table in string_codes.cpp
  ValuesFn values = nullptr;
};

std::vector<Row> product_rows();     // table_products.cpp: dot products, normalisation, pooling
std::vector<Row> arithmetic_rows();  // table_arithmetic.cpp: elementwise
std::vector<Row> movement_rows();    // table_movement.cpp: copies and shapes
std::vector<Row> reduction_rows();   // table_reductions.cpp: sums, extremes, softmax
std::vector<Row> quantised_rows();   // table_quantised.cpp: 8-bit codes and their products
std::vector<Row> recurrent_rows();   // table_recurrent.cpp: RNN, GRU, LSTM, training, random
std::vector<Row> loss_rows();        // table_losses.cpp: losses and the logarithm of a sum
std::vector<Row> trig_rows();        // table_trig.cpp: trigonometric and hyperbolic functions
std::vector<Row> structure_rows();   // table_structure.cpp: sequences, optionals, control flow
std::vector<Row> place_rows();       // table_places.cpp: elements looked up by place
std::vector<Row> signal_rows();      // table_signal.cpp: spectra, windows, images from columns
std::vector<Row> attention_rows();   // table_attention.cpp: what newer networks are made of
std::vector<Row> string_rows();      // table_strings.cpp: on texts
std::vector<Row> ml_rows();          // table_ml.cpp: the domain ai.onnx.ml

}  // namespace commensal::kernels
