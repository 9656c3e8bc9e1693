// SPDX-License-Identifier: Apache-2.0
// The C face over the C++ one: handles are those objects, errors become text in the caller's
// memory.
#include <commensal/compute/session.h>
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/session.hpp>
#include <cstring>
#include <new>
#include <optional>

namespace compute = commensal::compute;

struct commensal_model {
  compute::Model model;
};
struct commensal_session {
  compute::Session session;
};
struct commensal_outputs {
  std::vector<compute::Tensor> tensors;
};

namespace {

using compute::Error;
using compute::ErrorCode;
using compute::Result;

static_assert(COMMENSAL_INVALID_ARGUMENT == static_cast<int>(ErrorCode::kInvalidArgument));
static_assert(COMMENSAL_INTERNAL == static_cast<int>(ErrorCode::kInternal));
static_assert(COMMENSAL_BFLOAT16 == static_cast<int>(compute::DType::kBfloat16));

commensal_status report(ErrorCode code, std::string_view message, commensal_error* error) {
  const auto status = static_cast<commensal_status>(code);
  if (error != nullptr) {
    error->status = status;
    const std::size_t size = std::min<std::size_t>(message.size(), COMMENSAL_MESSAGE_BYTES - 1);
    std::memcpy(error->message, message.data(), size);
    error->message[size] = '\0';
  }
  return status;
}

/// Runs `work`, which returns an error or nothing. No exception may reach a C caller.
template <class F>
commensal_status guarded(commensal_error* error, F&& work) {
  try {
    const std::optional<Error> failed = work();
    if (failed) return report(failed->code, failed->message, error);
    if (error != nullptr) {
      error->status = COMMENSAL_OK;
      error->message[0] = '\0';
    }
    return COMMENSAL_OK;
  } catch (const std::bad_alloc&) {
    return report(ErrorCode::kResourceExhausted, "this machine has no memory left", error);
  } catch (const std::exception& thrown) {
    return report(ErrorCode::kInternal, thrown.what(), error);
  }
}

Error missing(std::string_view what) {
  return {ErrorCode::kInvalidArgument, std::string(what) + " is NULL, expected a pointer"};
}

/// The value into a new handle.
template <class Handle, class T>
std::optional<Error> hand_out(Result<T> made, Handle** out) {
  if (!made) return made.error();
  *out = new Handle{*std::move(made)};
  return std::nullopt;
}

std::optional<Error> port_of(std::span<const compute::Port> ports, std::size_t index,
                             commensal_port* out) {
  if (out == nullptr) return missing("port");
  if (index >= ports.size()) {
    return Error{ErrorCode::kInvalidArgument, "index " + std::to_string(index) + " of " +
                                                  std::to_string(ports.size()) +
                                                  ", counted from 0"};
  }
  const compute::Port& port = ports[index];
  *out = {port.name.c_str(), port.text.c_str(), static_cast<std::int32_t>(port.dtype),
          port.shape ? static_cast<std::int32_t>(port.shape->size()) : -1,
          port.shape ? port.shape->data() : nullptr};
  return std::nullopt;
}

Result<compute::SessionOptions> options_of(const commensal_options* given) {
  compute::SessionOptions made;
  if (given == nullptr) return made;
  if (given->size < sizeof(commensal_options)) {
    return Error{ErrorCode::kInvalidArgument,
                 "options of " + std::to_string(given->size) + " bytes, expected " +
                     std::to_string(sizeof(commensal_options)) + " (COMMENSAL_OPTIONS_INIT)"};
  }
  if (given->threads != 0) made.threads = given->threads;
  if (given->memory_bytes_max != 0) made.memory_bytes_max = given->memory_bytes_max;
  made.reference = given->reference != 0;
  return made;
}

Result<std::vector<compute::TensorView>> views_of(const commensal_tensor* inputs,
                                                  std::size_t count) {
  std::vector<compute::TensorView> views;
  for (std::size_t i = 0; i < count; ++i) {
    const commensal_tensor& input = inputs[i];
    if (input.rank < 0 || input.rank > commensal::limits::kRankMax) {
      return Error{ErrorCode::kInvalidArgument,
                   "input " + std::to_string(i) + " has rank " + std::to_string(input.rank) +
                       ", expected 0 to " + std::to_string(commensal::limits::kRankMax)};
    }
    if ((input.rank > 0 && input.dims == nullptr) || (input.bytes > 0 && input.data == nullptr)) {
      return missing("dims or data of input " + std::to_string(i));
    }
    views.push_back({static_cast<compute::DType>(input.dtype),
                     {input.dims, input.dims + input.rank},
                     {static_cast<const std::byte*>(input.data), input.bytes}});
  }
  return views;
}

}  // namespace

int32_t commensal_abi_version(void) { return COMMENSAL_ABI_VERSION; }
const char* commensal_version(void) { return compute::version().data(); }
int32_t commensal_numerics_version(void) { return compute::numerics_version(); }

const char* commensal_dtype_name(int32_t dtype) {
  return compute::name_of(static_cast<compute::DType>(dtype)).data();
}
size_t commensal_dtype_size(int32_t dtype) {
  return compute::size_of(static_cast<compute::DType>(dtype));
}

commensal_status commensal_model_load(const char* path, commensal_model** model,
                                      commensal_error* error) {
  return guarded(error, [&]() -> std::optional<Error> {
    if (path == nullptr || model == nullptr) return missing(path == nullptr ? "path" : "model");
    return hand_out(compute::Model::load(path), model);
  });
}

commensal_status commensal_model_parse(const void* onnx, size_t bytes, commensal_model** model,
                                       commensal_error* error) {
  return guarded(error, [&]() -> std::optional<Error> {
    if (onnx == nullptr || model == nullptr) return missing(onnx == nullptr ? "onnx" : "model");
    return hand_out(compute::Model::parse({static_cast<const std::byte*>(onnx), bytes}), model);
  });
}

void commensal_model_free(commensal_model* model) { delete model; }

size_t commensal_model_input_count(const commensal_model* model) {
  return model == nullptr ? 0 : model->model.inputs().size();
}
size_t commensal_model_output_count(const commensal_model* model) {
  return model == nullptr ? 0 : model->model.outputs().size();
}

commensal_status commensal_model_input(const commensal_model* model, size_t index,
                                       commensal_port* port, commensal_error* error) {
  return guarded(error, [&]() -> std::optional<Error> {
    if (model == nullptr) return missing("model");
    return port_of(model->model.inputs(), index, port);
  });
}

commensal_status commensal_model_output(const commensal_model* model, size_t index,
                                        commensal_port* port, commensal_error* error) {
  return guarded(error, [&]() -> std::optional<Error> {
    if (model == nullptr) return missing("model");
    return port_of(model->model.outputs(), index, port);
  });
}

const char* commensal_model_batching_objection(const commensal_model* model) {
  return model == nullptr ? "there is no model" : model->model.batching_objection().c_str();
}

commensal_status commensal_session_create(const commensal_model* model,
                                          const commensal_options* options,
                                          commensal_session** session, commensal_error* error) {
  return guarded(error, [&]() -> std::optional<Error> {
    if (model == nullptr || session == nullptr) {
      return missing(model == nullptr ? "model" : "session");
    }
    const auto chosen = options_of(options);
    if (!chosen) return chosen.error();
    return hand_out(compute::Session::create(model->model, *chosen), session);
  });
}

void commensal_session_free(commensal_session* session) { delete session; }

commensal_status commensal_session_run(commensal_session* session, const commensal_tensor* inputs,
                                       size_t input_count, commensal_outputs** outputs,
                                       commensal_error* error) {
  return guarded(error, [&]() -> std::optional<Error> {
    if (session == nullptr || outputs == nullptr) {
      return missing(session == nullptr ? "session" : "outputs");
    }
    if (inputs == nullptr && input_count > 0) return missing("inputs");
    const auto views = views_of(inputs, input_count);
    if (!views) return views.error();
    return hand_out(session->session.run(*views), outputs);
  });
}

size_t commensal_outputs_count(const commensal_outputs* outputs) {
  return outputs == nullptr ? 0 : outputs->tensors.size();
}

commensal_status commensal_outputs_get(const commensal_outputs* outputs, size_t index,
                                       commensal_tensor* tensor, commensal_error* error) {
  return guarded(error, [&]() -> std::optional<Error> {
    if (outputs == nullptr || tensor == nullptr) {
      return missing(outputs == nullptr ? "outputs" : "tensor");
    }
    if (index >= outputs->tensors.size()) {
      return Error{ErrorCode::kInvalidArgument, "output " + std::to_string(index) + " of " +
                                                    std::to_string(outputs->tensors.size()) +
                                                    ", counted from 0"};
    }
    const compute::Tensor& value = outputs->tensors[index];
    *tensor = {static_cast<std::int32_t>(value.dtype()),
               static_cast<std::int32_t>(value.shape().size()), value.shape().data(),
               value.bytes().data(), value.bytes().size()};
    return std::nullopt;
  });
}

void commensal_outputs_free(commensal_outputs* outputs) { delete outputs; }
