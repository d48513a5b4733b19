// SPDX-License-Identifier: BSD-3-Clause
#include "sharp/sharp_library.h"

#include <dlfcn.h>

#include "config.h"

namespace nezha {
#ifdef NEZHA_SHARP_LIBRARY
namespace {

/// What is missing is named in `missing`, the first of it.
template <typename Symbol>
void find(void* library, const char* name, Symbol& symbol, std::string& missing) {
  symbol = reinterpret_cast<Symbol>(dlsym(library, name));
  if (symbol == nullptr && missing.empty()) missing = name;
}

}  // namespace

Status open_sharp_library(const std::string& path, sharp_api::Functions& sharp) {
  const std::string file = path.empty() ? NEZHA_SHARP_LIBRARY : path;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return {Code::absent, "the SHARP library cannot be opened: " + std::string(dlerror())};
  std::string missing;
  find(library, "sharp_coll_init", sharp.init, missing);
  find(library, "sharp_coll_finalize", sharp.finalize, missing);
  find(library, "sharp_coll_caps_query", sharp.caps_query, missing);
  find(library, "sharp_coll_comm_init", sharp.comm_init, missing);
  find(library, "sharp_coll_comm_destroy", sharp.comm_destroy, missing);
  find(library, "sharp_coll_do_allreduce_nb", sharp.do_allreduce_nb, missing);
  find(library, "sharp_coll_req_test", sharp.req_test, missing);
  find(library, "sharp_coll_req_wait", sharp.req_wait, missing);
  find(library, "sharp_coll_reg_mr", sharp.reg_mr, missing);
  find(library, "sharp_coll_dereg_mr", sharp.dereg_mr, missing);
  find(library, "sharp_coll_strerror", sharp.strerror, missing);
  find(library, "sharp_coll_default_config", sharp.default_config, missing);
  if (!missing.empty()) return {Code::absent, file + " has no " + missing + ": it must be of SHARP 3"};
  return {};
}

#else

Status open_sharp_library(const std::string&, sharp_api::Functions&) {
  return {Code::absent, "this Nezha was built without it: configure it by --with-sharp"};
}

#endif
}  // namespace nezha
