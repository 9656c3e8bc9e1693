// SPDX-License-Identifier: Apache-2.0
// Whether a card says of its model what is so.
#include <algorithm>
#include <commensal/compute/tensor/score_extent.hpp>
#include <commensal/serve/gateway/model_card.hpp>

namespace commensal::gateway {
namespace {

using graph::Declared;

template <class... Args>
tl::unexpected<core::Error> lies(fmt::format_string<Args...> format, Args&&... args) {
  return core::fail(core::ErrorCode::kInvalidArgument, "the card does not fit the model: {}",
                    fmt::format(format, std::forward<Args>(args)...));
}

std::string names_of(const std::vector<ModelPort>& ports) {
  std::string text;
  for (const ModelPort& port : ports)
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", port.name);
  return text;
}

/// The port of that name, or the only one. Null: `name` is "", and there are several.
core::Result<const ModelPort*> port_of(const std::vector<ModelPort>& ports, std::string& name,
                                       std::string_view what) {
  if (name.empty() && ports.size() != 1) return nullptr;
  if (name.empty()) name = ports.front().name;
  const auto found = std::ranges::find(ports, name, &ModelPort::name);
  if (found != ports.end()) return &*found;
  return lies("it has no {} '{}', but {}", what, name, names_of(ports));
}

bool may_be(std::int64_t dim, std::int64_t wanted) { return dim < 0 || dim == wanted; }

/// Whether dims are a picture's in this layout, and colour where that is said.
bool is_laid_out(const Declared& declared, bool is_last, const std::string& colour) {
  if (!declared.ranked) return true;
  const std::int64_t channels = declared.dims[is_last ? 3 : 1];
  if (!colour.empty()) return may_be(channels, colour == "gray" ? 1 : 3);
  return may_be(channels, 1) || may_be(channels, 3);
}

core::Result<void> fit_picture(CardPicture& picture, const ModelVersion& model) {
  COMMENSAL_ASSIGN(const ModelPort* const port, port_of(model.inputs, picture.input, "input"));
  if (port == nullptr)
    return lies("picture.input says which of its inputs: {}", names_of(model.inputs));
  const Declared& declared = port->declared;
  if (declared.dtype != tensor::DType::kFloat32 || (declared.ranked && declared.dims.size() != 4) ||
      (declared.ranked && !may_be(declared.dims[0], 1)))
    return lies("a picture fills float32[1,C,H,W] or [1,H,W,C], and '{}' is {}", port->name,
                declared.text());
  if (picture.layout.empty())
    picture.layout =
        is_laid_out(declared, false, picture.colour) || !is_laid_out(declared, true, picture.colour)
            ? "NCHW"
            : "NHWC";
  const bool is_last = picture.layout == "NHWC";
  if (!is_laid_out(declared, is_last, picture.colour))
    return lies("a picture as {}{}{} does not fit '{}', which is {}", picture.layout,
                picture.colour.empty() ? "" : " in ", picture.colour, port->name, declared.text());
  if (!declared.ranked) return {};
  const std::size_t at = is_last ? 1 : 2;
  const bool is_sized = picture.height != 0;
  if (is_sized &&
      (!may_be(declared.dims[at], picture.height) || !may_be(declared.dims[at + 1], picture.width)))
    return lies("a picture of {} x {} (height, width) does not fit '{}', which is {}",
                picture.height, picture.width, port->name, declared.text());
  if (!is_sized && declared.dims[at] > 0 && declared.dims[at + 1] > 0) {
    picture.height = declared.dims[at];
    picture.width = declared.dims[at + 1];
  }
  const std::int64_t channels = declared.dims[is_last ? 3 : 1];
  if (picture.colour.empty() && channels > 0) picture.colour = channels == 1 ? "gray" : "RGB";
  return {};
}

core::Result<void> fit_labels(ModelCard& card, const ModelVersion& model) {
  if (card.labels.empty()) return {};
  const std::size_t count = card.labels.size();
  const auto fits = [&](const ModelPort& port) {
    return port.declared.dtype != tensor::DType::kString &&  // which have no scores
           (!port.declared.ranked || tensor::may_have_labels(port.declared.dims, count));
  };
  std::string name = card.output ? card.output->name : "";
  COMMENSAL_ASSIGN(const ModelPort* const port, port_of(model.outputs, name, "output"));
  if (port != nullptr && !fits(*port))
    return lies("{} labels are not as many as '{}' has in its last dimension, which is {}", count,
                port->name, port->declared.text());
  if (port == nullptr && std::ranges::none_of(model.outputs, fits))
    return lies("{} labels are as many as no output has in its last dimension", count);
  return {};
}

}  // namespace

core::Result<void> fit_card(ModelCard& card, const ModelVersion& model) {
  if (card.picture) COMMENSAL_TRY(fit_picture(*card.picture, model));
  if (card.output) COMMENSAL_TRY(port_of(model.outputs, card.output->name, "output"));
  if (card.example) COMMENSAL_TRY(port_of(model.inputs, card.example->input, "input"));
  return fit_labels(card, model);
}

}  // namespace commensal::gateway
