// SPDX-License-Identifier: Apache-2.0
// What other people's programs answer a probe: the first byte says which. Whatever a decoder lets
// through must be a figure that a host can have.
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/decode.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>
#include <commensal/collocation/probe/kinds.hpp>
#include <commensal/collocation/probe/spec.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using commensal::core::check;
using commensal::core::Result;
using commensal::probe::Figure;

void hold(const Result<Figure>& figure) {
  if (!figure) {
    check(!figure.error().message.empty(), "a refusal without a reason");
    return;
  }
  check(figure->value >= 0 && figure->value <= commensal::limits::kProbeFigureMax,
        "a figure that no host can have");
}

/// The selector is the first line.
void read_prometheus(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const auto selector = commensal::probe::parse_selector(text.substr(0, end));
  if (!selector) return;
  text.remove_prefix(std::min(end + 1, text.size()));
  hold(commensal::probe::decode_prometheus(text, *selector));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto miners = commensal::probe::miners();
  const std::size_t kind = data[0] % (miners.size() + 3);
  const auto text = commensal::core::as_text({data + 1, size - 1});
  if (kind < miners.size()) {
    hold(miners[kind].decode(text));
  } else if (kind == miners.size()) {
    read_prometheus(text);
  } else if (kind == miners.size() + 1) {
    (void)commensal::probe::parse_process_stat(text);
  } else if (const auto spec = commensal::probe::parse_spec(text)) {
    (void)commensal::probe::parse_endpoint(spec->place);
  }
  return 0;
}
