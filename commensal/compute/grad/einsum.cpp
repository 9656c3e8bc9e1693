// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/rules.hpp>
#include <commensal/compute/kernels/shape_inference/einsum.hpp>

namespace commensal::grad::rules {

namespace {

/// One letter a dimension: those of an ellipsis are digits there, which an equation cannot name.
std::string letters_of(std::string labels, const std::string& letters) {
  for (char& label : labels) {
    if (label >= '0' && label <= '9') label = letters[static_cast<std::size_t>(label - '0')];
  }
  return labels;
}

/// Letters that no label is.
std::string unused_letters(const kernels::shape_inference::Einsum& call) {
  std::string made;
  for (const char first : {'A', 'a'}) {
    for (char letter = first; letter < first + 26; ++letter) {
      if (!call.dims.contains(letter)) made += letter;
    }
  }
  return made;
}

std::string each_once(const std::string& labels) {
  std::string made;
  for (const char label : labels) {
    if (made.find(label) == std::string::npos) made += label;
  }
  return made;
}

/// Nothing but where all places of a label are the same: [a, a] of [a].
Value on_diagonals(Value x, const std::string& labels) {
  Maker& maker = *x.maker;
  for (std::size_t second = 0; second < labels.size(); ++second) {
    const std::size_t first = labels.find(labels[second]);
    if (first == second) continue;
    const std::int64_t length = x.dim(static_cast<int>(first));
    const Value ones =
        maker.add("EyeLike", {filled(maker, 0, {x.type().dtype, maker.shape({length, length})})});
    Dims beside(labels.size(), 1);
    beside[first] = beside[second] = length;
    x = x * reshape(ones, beside);
  }
  return x;
}

}  // namespace

/// The product of dy and all other operands, summed over what is not this operand's; what it alone
/// has was summed, and gets the same everywhere.
void einsum(Step& step) {
  const auto call =
      step.read_call([](const kernels::Call& c) { return kernels::shape_inference::einsum_of(c); });
  if (!step.maker().state()) return;
  const std::string letters = unused_letters(call);
  const std::string output = letters_of(call.output, letters);
  if (letters.size() < 10 || each_once(output) != output)
    return step.refuse("an equation with that many labels has no gradient");
  for (std::size_t i = 0; i < step.inputs(); ++i) {
    step.give(i, [&] {
      const std::string own = letters_of(call.operands[i], letters), once = each_once(own);
      std::string equation = output, met = output;
      std::vector<Value> factors = {step.dy()};
      for (std::size_t other = 0; other < step.inputs(); ++other) {
        if (other == i) continue;
        const std::string labels = letters_of(call.operands[other], letters);
        equation += "," + labels;
        met += labels;
        factors.push_back(step.x(other));
      }
      std::string made;
      Dims beside, whole;
      for (const char label : once) {
        const auto at = own.find(label);
        const bool is_met = met.find(label) != std::string::npos;
        if (is_met) made += label;
        // An operand's dimension of 1 goes beside others' of more.
        std::int64_t dim = step.x(i).dim(static_cast<int>(at));
        const auto common = call.dims.find(call.operands[i][at]);
        if (is_met && common != call.dims.end()) dim = common->second;
        beside.push_back(is_met ? dim : 1);
        whole.push_back(dim);
      }
      Value product = step.maker().add("Einsum", factors,
                                       attributes_of({{"equation", equation + "->" + made}}));
      product = expand(reshape(product, beside), whole);
      if (once == own) return product;
      Dims repeated;
      for (const char label : own) repeated.push_back(whole[once.find(label)]);
      // Along the first place of each label, then everywhere it is, and off again but there.
      Dims first_places(own.size(), 1);
      for (std::size_t d = 0; d < own.size(); ++d) {
        if (own.find(own[d]) == d) first_places[d] = repeated[d];
      }
      return on_diagonals(expand(reshape(product, first_places), repeated), own);
    });
  }
}

}  // namespace commensal::grad::rules
