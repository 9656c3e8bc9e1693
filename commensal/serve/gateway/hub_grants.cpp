// SPDX-License-Identifier: Apache-2.0
// Who may see a model, change it, or let others use it.
#include <commensal/serve/gateway/hub.hpp>

namespace commensal::gateway {

using core::ErrorCode;

namespace {

bool is_theirs(const Account& asker, const ModelVersion& version) {
  return asker.role == Role::kOperator || asker.name == version.owner;
}

}  // namespace

bool ModelHub::may_see(const Account* asker, const ModelVersion& version) const {
  if (!version.is_private) return true;
  if (asker == nullptr) return false;
  return is_theirs(*asker, version) || grants_.find(version.name, asker->name) != nullptr;
}

core::Result<ModelVersion> ModelHub::own_model(const Account& asker, const std::string& name) {
  COMMENSAL_ASSIGN(ModelVersion last, find(&asker, name));
  if (is_theirs(asker, last)) return last;
  return core::fail(ErrorCode::kPermissionDenied, "'{}' is {}'s: its owner or an operator may",
                    last.name, last.owner);
}

core::Result<ModelVersion> ModelHub::find_file(const Account* asker, const std::string& name,
                                               std::uint32_t version) {
  COMMENSAL_ASSIGN(ModelVersion found, find(asker, name, version));
  if (!found.is_private || is_theirs(*asker, found)) return found;
  const ModelGrants::Grant* const grant = grants_.find(found.name, asker->name);
  if (grant != nullptr && grant->with_file) return found;
  return core::fail(ErrorCode::kPermissionDenied,
                    "'{}' may use '{}', but {} did not give it the file", asker->name, found.name,
                    found.owner);
}

core::Result<std::string> ModelHub::grant(const Account& asker, const std::string& name,
                                          const std::string& account, bool with_file) {
  COMMENSAL_ASSIGN(const ModelVersion model, own_model(asker, name));
  if (!model.is_private) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "'{}' is public: everybody with an account may use it", model.name);
  }
  COMMENSAL_TRY(grants_.give(model.name, account, {.with_file = with_file}));
  return model.name;
}

core::Result<std::string> ModelHub::revoke(const Account& asker, const std::string& name,
                                           const std::string& account) {
  COMMENSAL_ASSIGN(const ModelVersion model, own_model(asker, name));
  COMMENSAL_TRY(grants_.take(model.name, account));
  return model.name;
}

core::Result<ModelGrants::Grants> ModelHub::grants(const Account& asker, const std::string& name) {
  COMMENSAL_ASSIGN(const ModelVersion model, own_model(asker, name));
  return grants_.of(model.name);
}

}  // namespace commensal::gateway
