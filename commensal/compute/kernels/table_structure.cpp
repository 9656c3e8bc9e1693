// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/structure/ops.hpp>
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {
namespace {

constexpr int kMany = limits::kNodeInputsMax;

Row row(std::string_view name, int since, int until, int inputs_min, int inputs_max,
        int outputs_max, ValuesFn values) {
  Row made{name, since, until, inputs_min, inputs_max, outputs_max, Kind::kStructure, {}};
  made.values = values;
  return made;
}

}  // namespace

// name, since, until, inputs min and max, outputs max, function
std::vector<Row> structure_rows() {
  return {
      row("ConcatFromSequence", 11, 0, 1, 1, 1, structure::concat_from_sequence),
      row("If", 1, 0, 1, 1, kMany, structure::branch),
      row("Loop", 1, 0, 2, kMany, kMany, structure::loop),
      row("Optional", 15, 0, 0, 1, 1, structure::optional),
      row("OptionalGetElement", 15, 0, 1, 1, 1, structure::optional_get_element),
      row("OptionalHasElement", 15, 0, 0, 1, 1, structure::optional_has_element),
      row("Scan", 8, 8, 1, kMany, kMany, structure::scan_batch),
      row("Scan", 9, 0, 1, kMany, kMany, structure::scan),
      row("SequenceAt", 11, 0, 2, 2, 1, structure::sequence_at),
      row("SequenceConstruct", 11, 0, 1, kMany, 1, structure::sequence_construct),
      row("SequenceEmpty", 11, 0, 0, 0, 1, structure::sequence_empty),
      row("SequenceErase", 11, 0, 1, 2, 1, structure::sequence_erase),
      row("SequenceInsert", 11, 0, 2, 3, 1, structure::sequence_insert),
      row("SequenceLength", 11, 0, 1, 1, 1, structure::sequence_length),
      row("SequenceMap", 17, 0, 1, kMany, kMany, structure::sequence_map),
      row("SplitToSequence", 11, 0, 1, 2, 1, structure::split_to_sequence),
  };
}

}  // namespace commensal::kernels
