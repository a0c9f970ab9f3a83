// Every kind of mutex that attributes can select.
#pragma once

#include "../../support/check.hpp"

namespace conformance {

struct Kind {
  int type = PTHREAD_MUTEX_DEFAULT;
  int shared = PTHREAD_PROCESS_PRIVATE;
  int robust = PTHREAD_MUTEX_STALLED;
  int protocol = PTHREAD_PRIO_NONE;

  [[nodiscard]] std::string name() const {
    std::string text = check::type_name(type);
    if (shared == PTHREAD_PROCESS_SHARED) text += " shared";
    if (robust == PTHREAD_MUTEX_ROBUST) text += " robust";
    if (protocol == PTHREAD_PRIO_INHERIT) text += " inheriting";
    if (protocol == PTHREAD_PRIO_PROTECT) text += " protecting";
    return text;
  }

  int init(pthread_mutex_t* mutex) const {
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_settype(&attributes, type));
    OK(pthread_mutexattr_setpshared(&attributes, shared));
    OK(pthread_mutexattr_setrobust(&attributes, robust));
    OK(pthread_mutexattr_setprotocol(&attributes, protocol));
    const int result = pthread_mutex_init(mutex, &attributes);
    OK(pthread_mutexattr_destroy(&attributes));
    return result;
  }

  [[nodiscard]] bool checks_owner() const {
    return type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK;
  }
};

inline std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (const int type : check::all_types)
    for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED})
      for (const int robust : {PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST})
        for (const int protocol : {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT})
          kinds.push_back(Kind{type, shared, robust, protocol});
  return kinds;
}

}  // namespace conformance
