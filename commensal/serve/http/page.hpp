// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace commensal::http {

struct PageFile {
  std::string_view content_type;
  std::string plain;
  std::string gzip;  // "": no shorter
  std::string hash;  // of `plain`, in hexadecimal
};

/// The files of the page that the gateway shows to browsers (GET /, GET /page/{file}), as they were
/// when they were read: nothing that a request says ever becomes a path of the disk. Constant;
/// thread-safety: any thread.
class Page {
 public:
  /// All files of `folder`, folders within it left out. Errors: kNotFound (no such folder, no
  /// index.html), kInvalidArgument (a file whose ending has no content type here),
  /// kResourceExhausted (limits::kPage...), those of core::read_file.
  static core::Result<std::shared_ptr<const Page>> read(const core::Path& folder);

  /// Null where there is none of this name.
  const PageFile* find(std::string_view name) const;

 private:
  std::map<std::string, PageFile, std::less<>> files_;
};

}  // namespace commensal::http
