// SPDX-License-Identifier: Apache-2.0
#include <inference/model_config.pb.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/oip/config_rules.hpp>
#include <commensal/serve/oip/privacy.hpp>

namespace commensal::oip {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
namespace pb = google::protobuf;

/// What is set to anything but nothing: 501. Other fields that change nothing here are kept, and
/// named in docs/serving.md.
struct Unsupported {
  std::string_view field;  // its full name
  const char* why;
};
constexpr Unsupported kUnsupported[] = {
    {"inference.ModelConfig.version_policy", "all versions that were pushed are served"},
    {"inference.ModelResponseCache.enable", "each answer is computed, and has its receipt"},
    {"inference.ModelTransactionPolicy.decoupled", "a request has one answer"},
    {"inference.ModelInput.optional", "a model's inputs are all given"},
    {"inference.ModelInput.is_shape_tensor", "shapes are the model's own"},
    {"inference.ModelOutput.is_shape_tensor", "shapes are the model's own"},
    {"inference.ModelSequenceBatching.oldest", "requests of a sequence are independent"},
};

/// Goes through all that is set, the first offence ends it.
class Walk {
 public:
  Result<void> through(const pb::Message& message) {
    std::vector<const pb::FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const pb::FieldDescriptor* const field : fields) {
      COMMENSAL_TRY(check_support(*field));
      const int size =
          field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
      left_ -= size;
      if (left_ < 0) {
        return fail(ErrorCode::kInvalidArgument, "a configuration of more than {} values, at {}",
                    limits::kConfigFieldsMax, field->name());
      }
      for (int i = 0; i < size; ++i) COMMENSAL_TRY(one(message, *field, i));
    }
    return {};
  }

 private:
  static Result<void> check_support(const pb::FieldDescriptor& field) {
    for (const Unsupported& one : kUnsupported) {
      if (field.full_name() == one.field)
        return fail(ErrorCode::kUnsupported, "{} is not supported: {}", field.name(), one.why);
    }
    return {};
  }
  Result<void> one(const pb::Message& message, const pb::FieldDescriptor& field, int i) {
    const pb::Reflection& read = *message.GetReflection();
    if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      return through(field.is_repeated() ? read.GetRepeatedMessage(message, &field, i)
                                         : read.GetMessage(message, &field));
    }
    if (field.cpp_type() != pb::FieldDescriptor::CPPTYPE_ENUM) return {};
    const int value = field.is_repeated() ? read.GetRepeatedEnumValue(message, &field, i)
                                          : read.GetEnumValue(message, &field);
    if (field.enum_type()->FindValueByNumber(value) != nullptr) return {};
    return fail(ErrorCode::kInvalidArgument, "{} is {}, which no {} is", field.name(), value,
                field.enum_type()->name());
  }

  int left_ = limits::kConfigFieldsMax;
};

/// Names that somebody chose, under which nothing is read.
Result<void> check_names(const inference::ModelConfig& said) {
  for (const auto& [name, value] : said.parameters()) {
    if (name != kPrivacyClass) COMMENSAL_TRY(check_unread(name));
  }
  for (const auto& [name, value] : said.metric_tags()) COMMENSAL_TRY(check_unread(name));
  return {};
}

}  // namespace

Result<void> check_config(const inference::ModelConfig& said) {
  COMMENSAL_TRY(Walk().through(said));
  return check_names(said);
}

}  // namespace commensal::oip
