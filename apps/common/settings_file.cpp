// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <apps/common/settings_file.hpp>
#include <commensal/base/core/limits_programs.hpp>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::Result;

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

template <class... Values>
tl::unexpected<core::Error> wrong(const core::Path& path, int line,
                                  fmt::format_string<Values...> format, Values&&... values) {
  return core::fail(ErrorCode::kInvalidArgument, "{}:{}: {}", path.string(), line,
                    fmt::format(format, std::forward<Values>(values)...));
}

Result<Setting> read_setting(const YAML::Node& key, const YAML::Node& value,
                             const core::Path& path) {
  if (!key.IsScalar()) return wrong(path, line_of(key), "a flag's name is no text");
  Setting setting{.key = key.Scalar(), .values = {}, .is_list = false, .line = line_of(key)};
  const auto expected = [&] {
    return wrong(path, setting.line, "'{}': expected one value, or a list of them", setting.key);
  };
  if (value.IsScalar()) {
    setting.values.push_back(value.Scalar());
    return setting;
  }
  if (!value.IsSequence()) return expected();
  setting.is_list = true;
  for (const YAML::Node& one : value) {
    if (!one.IsScalar()) return expected();
    setting.values.push_back(one.Scalar());
  }
  return setting;
}

Result<SettingsSection> read_section(const YAML::Node& key, const YAML::Node& body,
                                     const core::Path& path) {
  if (!key.IsScalar()) return wrong(path, line_of(key), "a section's name is no text");
  SettingsSection section{.name = key.Scalar(), .settings = {}, .line = line_of(key)};
  if (body.IsNull()) return section;  // all of it is a comment
  if (!body.IsMap()) {
    return wrong(path, section.line, "'{}': expected a section: flags, indented, as 'http: ...'",
                 section.name);
  }
  for (const auto& entry : body) {
    COMMENSAL_ASSIGN(Setting setting, read_setting(entry.first, entry.second, path));
    const auto same = std::ranges::find(section.settings, setting.key, &Setting::key);
    if (same != section.settings.end()) {
      return wrong(path, setting.line, "'{}' stands in line {} already", setting.key, same->line);
    }
    section.settings.push_back(std::move(setting));
  }
  return section;
}

Result<SettingsFile> read_sections(const YAML::Node& root, const core::Path& path) {
  SettingsFile file{.path = path, .sections = {}};
  if (root.IsNull()) return file;
  if (!root.IsMap()) return wrong(path, line_of(root), "expected sections, as 'gateway:'");
  for (const auto& entry : root) {
    COMMENSAL_ASSIGN(SettingsSection section, read_section(entry.first, entry.second, path));
    const auto same = std::ranges::find(file.sections, section.name, &SettingsSection::name);
    if (same != file.sections.end()) {
      return wrong(path, section.line, "'{}' stands in line {} already", section.name, same->line);
    }
    file.sections.push_back(std::move(section));
  }
  return file;
}

}  // namespace

Result<SettingsFile> parse_settings(std::string_view yaml, const core::Path& path) {
  // The parser refuses what nests deeply by itself, and aliases are references, not copies.
  try {
    return read_sections(YAML::Load(std::string(yaml)), path);
  } catch (const YAML::Exception& error) {
    std::string text = error.msg;
    std::ranges::replace_if(
        text, [](char c) { return c < ' '; }, ' ');
    return wrong(path, error.mark.line + 1, "no YAML: {}", text);
  }
}

Result<std::optional<SettingsFile>> read_settings(const core::Path& path) {
  std::error_code ignored;
  const auto there = std::filesystem::symlink_status(path, ignored);
  if (there.type() == std::filesystem::file_type::not_found) return std::optional<SettingsFile>();
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(path, limits::kSettingsBytesMax));
  return parse_settings(core::as_text(bytes), path);
}

}  // namespace commensal::apps
