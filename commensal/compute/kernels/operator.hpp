// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/compute/kernels/attributes.hpp>
#include <commensal/compute/kernels/columns.hpp>
#include <commensal/compute/kernels/memo.hpp>
#include <commensal/compute/kernels/pack_store.hpp>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/tensor/arena.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <commensal/compute/tensor/value.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// Operators are data: rows of the table (table_*.hpp), a small file in ref/ and, where speed asks
/// for it, one in cpu/. Whatever else the program knows of an operator is a column of its row.
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
  Places unknown = {};  // of `infer`: inputs whose elements are not there yet, and read as zeros
  mutable Pulse pulse = Pulse();   // of plain loops, on the thread that runs the call
  mutable Memo memo = {};          // of the kernel, on that thread
  mutable bool is_judged = false;  // whether the judge's plain loops have served it

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
  /// For another node of the same operator, isa and Operator::packs: shares what is large. Null
  /// where nothing can be shared.
  virtual std::shared_ptr<const Packed> another(const Call&) const { return nullptr; }
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
/// Computes one output element exactly as `run` does.
using ElementFn = Scalar (*)(const Call&, int output, std::int64_t index);
/// The accumulator of that element after `steps` steps of its reduction; 0 steps is its start.
using PartialFn = Scalar (*)(const Call&, int output, std::int64_t index, std::int64_t steps);
/// Number of steps of that element's reduction.
using StepsFn = std::int64_t (*)(const Call&, int output, std::int64_t index);

/// An operator as the judge has it: what ref/ makes of one Plan (ref/plan.hpp). Operators of
/// optimised graphs have `infer` only: they give the bits of what they stand for.
struct Judge {
  InferFn infer = nullptr;
  KernelFn run = nullptr;
  /// The bits of `run`, on several threads and over whole rows as far as it can; null: there is but
  /// `run`.
  KernelFn rows = nullptr;
  bool rows_are_plain = false;  // element by element, as `run` does
  /// For calls that a kernel of cpu/ does not take.
  KernelFn best() const { return rows != nullptr ? rows : run; }
  ReadsFn reads = nullptr;
  ElementFn element = nullptr;
  StepsFn steps = nullptr;  // with partial; null where there is no reduction
  PartialFn partial = nullptr;
};
inline constexpr Judge kNoJudge = {};

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

/// Steps of the reduction of an output element in the middle, roughly and at once.
using CostFn = std::int64_t (*)(const Call&);

namespace batching {
struct Trial;
/// Why a node may mix rows; empty where row i of every output depends on row i of the batched
/// inputs only. That the outputs have as many rows is for the caller to check.
using Rule = std::string (*)(const Trial&);
}  // namespace batching

/// The domain of operators that no model file can ask for: what an optimised graph has in place of
/// several of the model's (graph/optimise).
inline constexpr std::string_view kInternalDomain = "commensal";

/// One row: a version range of one operator. What is not said is as it is here.
struct Operator {
  struct Count {
    int min = 1, max = 1;
  };
  struct Batching {
    batching::Rule rule = nullptr;  // null: it may mix rows
    RowCounts counts = RowCounts::kLost;
  };
  struct Codes {  // which inputs and outputs are strings, if any is
    Places inputs{1}, outputs{1};
  };

  std::string_view name;
  std::string_view domain = {};  // "" is the default ONNX domain
  int since = 1;                 // first opset
  int until = 0;                 // last opset, 0: still in force
  Count inputs = {};
  int outputs_max = 1;
  Kind kind = Kind::kElementwise;
  const Judge* judge = &kNoJudge;
  KernelFn cpu = nullptr;  // null: the judge's `rows` or `run` serve
  PackFn pack = nullptr;
  std::optional<Packs> packs = {};
  Cuda cuda = Cuda::kNone;
  ValuesFn values = nullptr;  // used where the judge has no `infer`, or an input is not a tensor
  Strings strings = Strings::kRefused;
  Codes codes = {};  // with Strings::kCodes
  Batching batching = {};
  CostFn cost = nullptr;  // null: the judge's `steps` tell
  Role role = Role::kNone;
  /// The inputs whose elements decide the outputs' types. Absent: none of them if it is elementwise
  /// or a dot product; all others are not inferred before they run.
  std::optional<Places> shaping = {};
  /// The inputs whose elements decide which elements of others are read, or the outputs' types.
  /// Absent: none if it is elementwise or a dot product, else all but the first.
  std::optional<Places> steering = {};
  /// The inputs whose elements inference checks, beside those that shape. Absent: those that steer.
  std::optional<Places> checked = {};
  bool canonical = false;  // the only NaN among its floats is the canonical one
  bool by_image = false;   // image i of the output is a function of image i of inputs in blocks

  /// What serves on this machine's instruction sets; null: the judge's plain loops.
  constexpr KernelFn fast() const { return cpu != nullptr ? cpu : judge->rows; }
  /// Whether it runs in the judge's loops where fast kernels are there: time is lost in it.
  constexpr bool is_plain() const {
    return cpu == nullptr && (judge->rows == nullptr || judge->rows_are_plain) &&
           judge->run != nullptr && kind != Kind::kConstant;
  }
  /// Whether its elements decide which elements of other inputs are read.
  constexpr bool steers(std::size_t input) const {
    return steering ? steering->has(input) : !computes() && input > 0;
  }
  /// The inputs whose elements decide the outputs' types; none where they are known only when it
  /// runs.
  constexpr std::optional<Places> shaped_by() const {
    if (judge->infer == nullptr || !domain.empty()) return std::nullopt;
    return !shaping && computes() ? Places{} : shaping;
  }
  /// Whether what is known of a call before it runs may depend on that input's elements.
  constexpr bool reads_ahead(std::size_t input) const {
    const auto shaping = shaped_by();
    return !shaping || shaping->has(input) || (checked ? checked->has(input) : steers(input));
  }
  constexpr bool is_internal() const { return domain == kInternalDomain; }

 private:
  constexpr bool computes() const {
    return kind == Kind::kElementwise || kind == Kind::kDotProduct;
  }
};

/// Tensors for the types in `call.outputs`, undefined where the kernel makes them itself.
core::Result<std::vector<Tensor>> allocate_outputs(const Call& call, tensor::Arena& arena);

/// All rows, each operator's in the order of their opsets: those that a model may ask for in
/// alphabetical order, then those of optimised graphs.
std::span<const Operator> operator_table();
/// Without those of optimised graphs.
std::span<const Operator> model_operators();

/// Among model_operators(). Error: kUnsupported, naming operator, domain and opset.
core::Result<const Operator*> find_operator(std::string_view domain, std::string_view name,
                                            int opset);

/// Checked: there is such an operator in that opset.
const Operator& operator_of(Role role, int opset);

}  // namespace commensal::kernels
