#include "interpose/real.hpp"

#include <dlfcn.h>

#include "interpose/export.hpp"
#include "lockwright/env/native/fatal.hpp"

namespace lockwright::interpose {
namespace {

/// Looks up `name` in `where` with its version: plain dlsym may return the condition variables of
/// 2002.
template <class Function>
void find(Function*& target, void* where, const char* name, const char* version) {
  void* found = dlvsym(where, name, version);
  if (found == nullptr) {
    found = dlsym(where, name);
  }
  if (found == nullptr) {
    native_env::complain("the C library has no ", name, "; glibc 2.34 or later is needed");
    __builtin_trap();
  }
  target = reinterpret_cast<Function*>(found);
}

}  // namespace

void find_real_functions(void* where) {
  real_functions f;
#define REAL_FUNCTION(result, member, parameters, name, version) \
  find(f.member, where, name, version);
#include "interpose/real.def"
#undef REAL_FUNCTION
  real = f;  // threads that race here store the same values
}

namespace {

/// The stub of one member: looks everything up, then makes the call.
template <auto Member>
struct stub;

template <class Result, class... Arguments, Result (*real_functions::*Member)(Arguments...)>
struct stub<Member> {
  static Result call(Arguments... arguments) {
    find_real_functions(RTLD_NEXT);  // the libraries after this one
    return (real.*Member)(arguments...);
  }
};

}  // namespace

constinit real_functions real = {
#define REAL_FUNCTION(result, member, parameters, name, version) \
  .member = stub<&real_functions::member>::call,
#include "interpose/real.def"
#undef REAL_FUNCTION
};

}  // namespace lockwright::interpose
