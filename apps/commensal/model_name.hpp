// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/client.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::apps {

/// A model as a command names it. Version 0: the newest.
struct ModelName {
  std::string model;  // [OWNER/]MODEL
  std::uint32_t version = 0;
};

/// [OWNER/]MODEL[:VERSION] apart, where a number stands behind the last ':'; `version` is what an
/// option said, 0: nothing. Errors: kInvalidArgument (no version has this number; the option says
/// another).
core::Result<ModelName> read_model_name(const std::string& given, std::uint32_t version = 0);

/// Which of `known` (OWNER/MODEL) was probably meant by one that is not there: of another owner but
/// the same name, else the nearest; empty: none, or the name itself is known.
std::string nearest_model(std::string_view name, const std::vector<std::string>& known);

/// Of a full name. Errors: those of Client::model(), where it is unknown with what was meant.
core::Result<client::ModelInfo> look_up(client::Client& client, const ModelName& named);

}  // namespace commensal::apps
