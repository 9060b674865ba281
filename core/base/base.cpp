// The few definitions behind core/base: the lock hooks and the text of errors.
#include <cstdio>

#include "core/base/error.h"
#include "core/base/lock.h"

namespace msa {

LockHooks lock_hooks;

namespace detail {
void append(std::string& s, std::string_view v) { s.append(v); }
void append(std::string& s, const char* v) { s.append(v); }
void append(std::string& s, char v) { s.push_back(v); }
void append(std::string& s, bool v) { s.append(v ? "True" : "False"); }
void append(std::string& s, double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", v);
  s.append(text);
}
void append(std::string& s, long long v) { s.append(std::to_string(v)); }
}  // namespace detail

}  // namespace msa
