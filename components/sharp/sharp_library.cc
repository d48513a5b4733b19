// SPDX-License-Identifier: BSD-3-Clause
#include "sharp/sharp_library.h"

#include <dlfcn.h>

#include "config.h"
#include "util/symbols.h"

namespace nezha {
#ifdef NEZHA_SHARP_LIBRARY

Status open_sharp_library(const std::string& path, sharp_api::Functions& sharp) {
  const std::string file = path.empty() ? NEZHA_SHARP_LIBRARY : path;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return {Code::absent, "the SHARP library cannot be opened: " + std::string(dlerror())};
  Symbols symbols(library);
  symbols.find("sharp_coll_init", sharp.init);
  symbols.find("sharp_coll_finalize", sharp.finalize);
  symbols.find("sharp_coll_caps_query", sharp.caps_query);
  symbols.find("sharp_coll_comm_init", sharp.comm_init);
  symbols.find("sharp_coll_comm_destroy", sharp.comm_destroy);
  symbols.find("sharp_coll_do_allreduce_nb", sharp.do_allreduce_nb);
  symbols.find("sharp_coll_req_test", sharp.req_test);
  symbols.find("sharp_coll_req_wait", sharp.req_wait);
  symbols.find("sharp_coll_reg_mr", sharp.reg_mr);
  symbols.find("sharp_coll_dereg_mr", sharp.dereg_mr);
  symbols.find("sharp_coll_strerror", sharp.strerror);
  symbols.find("sharp_coll_default_config", sharp.default_config);
  if (!symbols.missing().empty()) return {Code::absent, file + " has no " + symbols.missing() + ": it must be of SHARP 3"};
  return {};
}

#else

Status open_sharp_library(const std::string&, sharp_api::Functions&) {
  return {Code::absent, "this Nezha was built without it: configure it by --with-sharp"};
}

#endif
}  // namespace nezha
