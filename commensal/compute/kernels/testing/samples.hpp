// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <string>
#include <vector>

/// Small valid calls of every operator of the table, for tests.
namespace commensal::kernels::testing {

struct Sample {
  std::string name;  // of the operator
  int opset = 17;
  std::vector<Tensor> inputs;  // undefined: an absent optional input
  Attributes attributes = {};
  int outputs = 1;
  std::string domain = {};
};

/// At least one for each row.
std::vector<Sample> all_samples();
std::vector<Sample> place_samples();      // samples_indexing_test.cpp; part of all_samples
std::vector<Sample> quantised_samples();  // samples_quantised_test.cpp; part of all_samples
std::vector<Sample> loss_samples();       // samples_losses_test.cpp; likewise
std::vector<Sample> signal_samples();     // samples_signal_test.cpp; likewise
std::vector<Sample> attention_samples();  // samples_attention_test.cpp; likewise
std::vector<Sample> small_samples();      // samples_small_test.cpp; likewise
/// A float32 tensor in a type of 8 or 4 bits.
Tensor as_small(const Tensor& from, tensor::DType dtype);

/// A sample as a Call, whose pointers stay valid as long as this lives.
class SampleCall {
 public:
  explicit SampleCall(Sample sample);
  SampleCall(const SampleCall&) = delete;
  SampleCall& operator=(const SampleCall&) = delete;

  const Operator& op() const { return *op_; }
  const Sample& sample() const { return sample_; }
  Call& call() { return call_; }
  /// Runs infer, which puts the output types into the call.
  core::Result<void> infer();
  /// Runs ref/ after infer.
  std::vector<Tensor> run_ref();

 private:
  Sample sample_;
  const Operator* op_ = nullptr;
  std::vector<const Tensor*> inputs_;
  Call call_;
};

/// The sample with float32 inputs converted to `dtype`.
Sample as_type(const Sample& sample, tensor::DType dtype);
/// The sample with NaN, infinities, signed zeros and subnormals strewn into its float32 inputs.
Sample with_specials(const Sample& sample);

}  // namespace commensal::kernels::testing
