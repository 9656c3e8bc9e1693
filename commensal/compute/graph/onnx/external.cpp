// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/compute/graph/onnx/external.hpp>
#include <commensal/compute/graph/onnx/text.hpp>

namespace commensal::graph::onnx {

using core::ErrorCode;
using core::fail;
using core::Path;
using core::Result;

namespace {

tl::unexpected<core::Error> outside(const std::string& location) {
  return fail(ErrorCode::kPermissionDenied, "external data '{}' is outside the model's folder",
              one_line(location));
}

Result<std::size_t> number(const std::map<std::string, std::string>& entries, const char* key,
                           std::size_t fallback) {
  const auto found = entries.find(key);
  if (found == entries.end()) return fallback;
  const std::string& text = found->second;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::kInvalidArgument, "external data has a bad {}: '{}'", key,
                one_line(text));
  }
  return value;
}

}  // namespace

Result<std::shared_ptr<const core::MappedFile>> ExternalFiles::open(const std::string& location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  const Path relative(location);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (!folder_ || !is_name(location) || relative.empty() || relative.is_absolute() || climbs) {
    return outside(location);
  }
  std::error_code error;
  const Path root = std::filesystem::canonical(folder_->empty() ? Path(".") : *folder_, error);
  const Path target = error ? Path() : std::filesystem::canonical(root / relative, error);
  if (error) {
    return fail(ErrorCode::kNotFound, "external data '{}' cannot be opened: {}", location,
                error.message());
  }
  // Links are followed by now: what remains must lie below the folder.
  const auto [root_end, rest] =
      std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (root_end != root.end() || rest == target.end()) return outside(location);
  COMMENSAL_ASSIGN(auto file, core::MappedFile::open(target));
  files_[location] = file;
  return file;
}

Result<Extent> ExternalFiles::map(const std::map<std::string, std::string>& entries) {
  const auto location = entries.find("location");
  if (location == entries.end()) {
    return fail(ErrorCode::kInvalidArgument, "external data without a location");
  }
  COMMENSAL_ASSIGN(const auto file, open(location->second));
  const std::size_t size = file->bytes().size();
  COMMENSAL_ASSIGN(const std::size_t offset, number(entries, "offset", 0));
  if (offset > size) {
    return fail(ErrorCode::kInvalidArgument, "external data at {} is beyond the {} bytes of '{}'",
                offset, size, location->second);
  }
  COMMENSAL_ASSIGN(const std::size_t length, number(entries, "length", size - offset));
  if (length > size - offset) {
    return fail(ErrorCode::kInvalidArgument,
                "external data of {} bytes at {} is beyond the {} bytes of '{}'", length, offset,
                size, location->second);
  }
  return Extent{file->bytes().subspan(offset, length), file, file};
}

}  // namespace commensal::graph::onnx
