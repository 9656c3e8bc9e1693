// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/hub.hpp>
#include <nlohmann/json.hpp>
#include <string>

/// What the texts of this folder have in common. Pure functions.
namespace commensal::http {

/// In one line; what is no UTF-8 is replaced.
inline std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

inline nlohmann::ordered_json ports_json(const std::vector<gateway::ModelPort>& ports) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const gateway::ModelPort& port : ports) {
    list.push_back({{"name", port.name},
                    {"datatype", tensor::traits(port.declared.dtype).oip},
                    {"shape", port.declared.dims}});
  }
  return list;
}

}  // namespace commensal::http
