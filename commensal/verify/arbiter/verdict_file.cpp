// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/arbiter/verdict_file.hpp>

namespace commensal::arbiter {

std::span<const std::string_view> enum_names(Matter) {
  static constexpr std::string_view kNames[] = {"type", "carried", "operation"};
  return kNames;
}

void write(protocol::Writer& writer, const Word& word) {
  protocol::write(writer, word.claim);
  write(writer, word.checkpoint);
  protocol::write(writer, word.segment);
  write(writer, word.trace);
  write(writer, word.element);
  protocol::write(writer, word.element_claim);
  write(writer, word.steps);
}
void read(protocol::Reader& reader, Word& word) {
  protocol::read(reader, word.claim);
  read(reader, word.checkpoint);
  protocol::read(reader, word.segment);
  read(reader, word.trace);
  read(reader, word.element);
  protocol::read(reader, word.element_claim);
  read(reader, word.steps);
}

}  // namespace commensal::arbiter
