// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/compute/kernels/attributes.hpp>
#include <commensal/compute/kernels/pack_store.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/compute/tensor/arena.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <commensal/compute/tensor/value.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// Operators are data: one row of the table (table.cpp), one small file in ref/ and, where speed
/// asks for it, one in cpu/. The dispatch (graph/) knows nothing of their meaning.
namespace commensal::kernels {

using tensor::Tensor;
using tensor::TensorType;
using tensor::Value;

/// One invocation of an operator. `inputs` holds null for an absent optional input; `outputs`
/// holds the types that `infer` gave, once it has run.
struct Call {
  int opset = 0;
  const Attributes* attributes = nullptr;
  std::span<const Tensor* const> inputs;
  int output_count = 1;
  std::vector<TensorType> outputs;
  PackStore* store = nullptr;  // of `pack`; null: nothing is kept

  bool has(int i) const { return i < static_cast<int>(inputs.size()) && in_ptr(i) != nullptr; }
  const Tensor& in(int i) const { return *in_ptr(i); }

 private:
  const Tensor* in_ptr(int i) const { return inputs[static_cast<std::size_t>(i)]; }
};

/// Instruction sets of the cpu/ back end; all give the same bits.
enum class Isa { kAvx2, kAvx512, kNeon };
/// What this machine has, best last; empty where the cpu/ back end cannot run.
std::span<const Isa> available_isas();
std::string_view name_of(Isa isa);

/// Constant inputs in the form that a kernel likes best, made once when a model is loaded.
/// Immutable, shared by all threads.
class Packed {
 public:
  virtual ~Packed() = default;
};

/// What a kernel may use while it runs.
struct Workspace {
  tensor::Arena& arena;            // outputs whose shape depends on data, and scratch
  ThreadPool& threads;             // cpu/ only
  Isa isa = Isa::kAvx2;            // cpu/ only
  const Packed* packed = nullptr;  // what the row's `pack` returned; null if it did not run
};

/// The value of one element, its bits in the low bytes.
struct Scalar {
  tensor::DType dtype = tensor::DType::kUndefined;
  std::uint64_t bits = 0;
  friend bool operator==(const Scalar&, const Scalar&) = default;
};
struct ElementRef {
  int input = 0;
  std::int64_t index = 0;
  friend bool operator==(const ElementRef&, const ElementRef&) = default;
  friend auto operator<=>(const ElementRef&, const ElementRef&) = default;
};

/// The types of the outputs, or what is wrong with the inputs (one line; the caller adds the
/// node's name). Checks all that the kernels rely on: ranks, dtypes, attributes.
using InferFn = core::Result<std::vector<TensorType>> (*)(const Call&);
/// Fills `outputs`, which have the inferred types.
using KernelFn = core::Result<void> (*)(const Call&, std::span<Tensor> outputs, Workspace&);
/// Packs constant inputs. `call.inputs` holds the constants and null for everything else. Returns
/// null where there is nothing to gain.
using PackFn = core::Result<std::shared_ptr<const Packed>> (*)(const Call&, Isa);
/// Appends the input elements that output element `index` depends on, ascending, each once.
using ReadsFn = void (*)(const Call&, int output, std::int64_t index, std::vector<ElementRef>&);
/// Computes one output element exactly as `ref` does.
using ElementFn = Scalar (*)(const Call&, int output, std::int64_t index);
/// The accumulator of that element after `steps` steps of its reduction; 0 steps is its start.
using PartialFn = Scalar (*)(const Call&, int output, std::int64_t index, std::int64_t steps);
/// Number of steps of that element's reduction.
using StepsFn = std::int64_t (*)(const Call&, int output, std::int64_t index);

/// The graphs among a node's attributes, for the operators that run them.
class Subgraphs {
 public:
  struct Size {
    std::size_t inputs = 0, outputs = 0;
  };
  virtual ~Subgraphs() = default;
  /// None if the attribute `name` is no graph.
  virtual std::optional<Size> size(std::string_view name) const = 0;
  /// What the graph declares of an output, free dimensions being 0; of undefined dtype where it
  /// declares no tensor.
  virtual TensorType output_type(std::string_view name, std::size_t output) const = 0;
  /// As many inputs and outputs as `size` says. Errors name the node that failed.
  virtual core::Result<std::vector<Value>> run(std::string_view name,
                                               std::vector<Value> inputs) = 0;
};

/// One invocation of an operator on values. An absent input is null or nothing.
struct ValueCall {
  const Attributes* attributes = nullptr;
  std::span<const Value* const> inputs;
  int output_count = 1;
  Subgraphs& subgraphs;
  tensor::Arena& arena;
  ThreadPool& threads;

  bool has(int i) const {
    return i < static_cast<int>(inputs.size()) && in_ptr(i) != nullptr && !in_ptr(i)->is_nothing();
  }
  /// Nothing where it is absent.
  Value in(int i) const { return has(i) ? *in_ptr(i) : Value(); }

 private:
  const Value* in_ptr(int i) const { return inputs[static_cast<std::size_t>(i)]; }
};
/// Checks its inputs and returns all outputs.
using ValuesFn = core::Result<std::vector<Value>> (*)(const ValueCall&);

/// How an operator's outputs depend on its inputs; audits choose their method by it.
enum class Kind {
  kElementwise,  // element i of broadcast inputs
  kMovement,     // copies elements, changes no bits
  kDotProduct,   // fused multiply-add chains
  kReduction,    // any other fold over several elements
  kConstant,     // no inputs
  kStructure,    // has `values` only
};

/// How an operator takes tensors of strings.
enum class Strings {
  kRefused,
  kCodes,  // it runs on int64 codes in their place: string_codes.hpp
  kOwn,    // its kernel reads and makes them; such an output is left for it to assign
};

/// One row: a version range of one operator.
struct Operator {
  std::string_view domain;  // "" is the default ONNX domain
  std::string_view name;
  int since = 1;  // first opset
  int until = 0;  // last opset, 0: still in force
  int inputs_min = 0, inputs_max = 0;
  int outputs_max = 1;
  Kind kind = Kind::kElementwise;
  Strings strings = Strings::kRefused;
  InferFn infer = nullptr;
  KernelFn ref = nullptr;
  KernelFn cpu = nullptr;  // null: ref serves
  PackFn pack = nullptr;
  ReadsFn reads = nullptr;
  ElementFn element = nullptr;  // null where the output is strings
  StepsFn steps = nullptr;      // with partial; null where there is no reduction
  PartialFn partial = nullptr;
  ValuesFn values = nullptr;  // used where there is no `infer`, or an input is not a tensor
};

/// Tensors for the types in `call.outputs`, undefined where the kernel makes them itself.
core::Result<std::vector<Tensor>> allocate_outputs(const Call& call, tensor::Arena& arena);

/// All rows, in alphabetical order.
std::span<const Operator> operator_table();

/// Error: kUnsupported, naming operator, domain and opset.
core::Result<const Operator*> find_operator(std::string_view domain, std::string_view name,
                                            int opset);

}  // namespace commensal::kernels
