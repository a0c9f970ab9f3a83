// Mutexes of every kind, also after the end of their owner.
#include "kinds.hpp"
#include "probes.hpp"

namespace conformance {
namespace {

// `mutex` is free before and after.
void use(pthread_mutex_t* mutex, const Kind& kind) {
  const bool checks = kind.checks_owner();
  if (const int result = pthread_mutex_lock(mutex); result != 0) {
    probe("lock", result);  // a ceiling that this process may not use
    return;
  }
  probe("trylock by the owner", pthread_mutex_trylock(mutex));
  if (kind.type == PTHREAD_MUTEX_RECURSIVE) probe("and unlock", pthread_mutex_unlock(mutex));
  if (checks) probe("lock by the owner", pthread_mutex_lock(mutex));
  if (kind.type == PTHREAD_MUTEX_RECURSIVE) probe("and unlock", pthread_mutex_unlock(mutex));
  // The result for the owner of a priority-inheriting mutex depends on the kernel.
  if (checks || kind.protocol != PTHREAD_PRIO_INHERIT) {
    const int timed = pthread_mutex_timedlock(mutex, &past);
    probe("timedlock by the owner", timed);
    if (timed == 0) probe("and unlock", pthread_mutex_unlock(mutex));
    const timespec when = soon(CLOCK_MONOTONIC);
    const int clocked = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &when);
    probe("clocklock by the owner", clocked);
    if (clocked == 0) probe("and unlock", pthread_mutex_unlock(mutex));
  }
  probe("trylock by another", in_thread([&] { return pthread_mutex_trylock(mutex); }));
  for (const timespec& when : {past, long_past, too_many, negative})
    probe("timedlock by another until " + std::to_string(when.tv_sec) + " " +
              std::to_string(when.tv_nsec),
          in_thread([&] { return pthread_mutex_timedlock(mutex, &when); }));
  probe("timedlock by another", in_thread([&] {
          const timespec when = soon();
          return pthread_mutex_timedlock(mutex, &when);
        }));
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME, clockid_t{77}})
    probe("clocklock by another with clock " + std::to_string(clock), in_thread([&] {
            const timespec when = past;
            return pthread_mutex_clocklock(mutex, clock, &when);
          }));
  if (checks || kind.robust == PTHREAD_MUTEX_ROBUST)
    probe("unlock by another", in_thread([&] { return pthread_mutex_unlock(mutex); }));
  probe("consistent while held", pthread_mutex_consistent(mutex));
  int ceiling = 0;
  probe("getprioceiling", pthread_mutex_getprioceiling(mutex, &ceiling));
  if (kind.robust == PTHREAD_MUTEX_STALLED) {
    probe("destroy while held", pthread_mutex_destroy(mutex));
    probe("destroy while another holds it",
          in_thread([&] { return pthread_mutex_destroy(mutex); }));
  }
  probe("unlock", pthread_mutex_unlock(mutex));
  if (checks || kind.robust == PTHREAD_MUTEX_ROBUST)
    probe("unlock when free", pthread_mutex_unlock(mutex));
  probe("consistent when free", pthread_mutex_consistent(mutex));
  int old = 0;
  if (kind.protocol == PTHREAD_PRIO_NONE)
    probe("setprioceiling", pthread_mutex_setprioceiling(mutex, 1, &old));
  for (const timespec& when : {past, long_past, too_many}) {
    const int result = pthread_mutex_timedlock(mutex, &when);
    probe("timedlock when free until " + std::to_string(when.tv_sec) + " " +
              std::to_string(when.tv_nsec),
          result);
    if (result == 0) OK(pthread_mutex_unlock(mutex));
  }
  const int clocked = pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &past);
  probe("clocklock when free with an invalid clock", clocked);
  if (clocked == 0) OK(pthread_mutex_unlock(mutex));
}

}  // namespace

CASE("mutex kinds") {
  for (const Kind& kind : all_kinds()) {
    group = "mutex " + kind.name();
    pthread_mutex_t mutex;
    const int result = kind.init(&mutex);
    probe("init", result);
    if (result != 0) continue;
    use(&mutex, kind);
    probe("destroy", pthread_mutex_destroy(&mutex));
    probe("lock after destroy", pthread_mutex_lock(&mutex));
    probe("trylock after destroy", pthread_mutex_trylock(&mutex));
    probe("init after destroy", kind.init(&mutex));
    probe("and destroy", pthread_mutex_destroy(&mutex));
  }
};

CASE("static initialisers") {
  const pthread_mutex_t each[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                  PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                                  PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
  std::size_t i = 0;
  for (const int type : check::all_types) {
    group = std::string{"static mutex "} + check::type_name(type);
    pthread_mutex_t mutex = each[i++];
    use(&mutex, Kind{.type = type});
    probe("destroy", pthread_mutex_destroy(&mutex));
  }
  group = "mutex without attributes";
  pthread_mutex_t mutex;
  probe("init", pthread_mutex_init(&mutex, nullptr));
  use(&mutex, Kind{});
  probe("destroy", pthread_mutex_destroy(&mutex));
};

// Any thread may unlock a normal mutex, and unlocking a free one has no effect.
CASE("normal mutexes") {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    group = std::string{"mutex "} + check::type_name(type) + " without owner checks";
    pthread_mutex_t mutex;
    check::init_mutex(&mutex, type);
    OK(pthread_mutex_lock(&mutex));
    probe("unlock by another", in_thread([&] { return pthread_mutex_unlock(&mutex); }));
    probe("unlock when free", pthread_mutex_unlock(&mutex));
    probe("lock", pthread_mutex_lock(&mutex));
    probe_is("held", !check::is_free(&mutex));
    probe("unlock", pthread_mutex_unlock(&mutex));
    probe_is("free", check::is_free(&mutex));
  }
};

CASE("owners that end") {
  for (const int type : check::all_types)
    for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED})
      for (const int protocol : {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT}) {
        const Kind kind{type, shared, PTHREAD_MUTEX_ROBUST, protocol};
        group = "owner of mutex " + kind.name() + " ended";
        pthread_mutex_t mutex;
        if (kind.init(&mutex) != 0) continue;
        auto end_owner = [&] {
          in_thread([&] {
            OK(pthread_mutex_lock(&mutex));
            return 0;
          });
        };
        end_owner();
        probe("lock", pthread_mutex_lock(&mutex));
        probe("trylock by another", in_thread([&] { return pthread_mutex_trylock(&mutex); }));
        probe("consistent", pthread_mutex_consistent(&mutex));
        probe("consistent again", pthread_mutex_consistent(&mutex));
        probe("unlock", pthread_mutex_unlock(&mutex));
        end_owner();
        probe("trylock", pthread_mutex_trylock(&mutex));
        probe("consistent", pthread_mutex_consistent(&mutex));
        probe("unlock", pthread_mutex_unlock(&mutex));
        end_owner();
        probe("timedlock", pthread_mutex_timedlock(&mutex, &past));
        probe("unlock without consistent", pthread_mutex_unlock(&mutex));
        probe("lock", pthread_mutex_lock(&mutex));
        probe("trylock", pthread_mutex_trylock(&mutex));
        probe("consistent", pthread_mutex_consistent(&mutex));
        probe("destroy", pthread_mutex_destroy(&mutex));
      }
  for (const int type : check::all_types) {
    group = std::string{"owner of mutex "} + check::type_name(type) + " ended";
    pthread_mutex_t mutex;
    check::init_mutex(&mutex, type);
    pthread_t thread;
    OK(pthread_create(
        &thread, nullptr,
        [](void* held) -> void* {
          OK(pthread_mutex_lock(static_cast<pthread_mutex_t*>(held)));
          pthread_exit(nullptr);
        },
        &mutex));
    OK(pthread_join(thread, nullptr));
    probe("trylock", pthread_mutex_trylock(&mutex));
    probe("timedlock", pthread_mutex_timedlock(&mutex, &past));
    const timespec when = soon();
    probe("timedlock for a while", pthread_mutex_timedlock(&mutex, &when));
    probe("destroy", pthread_mutex_destroy(&mutex));
    probe("consistent", pthread_mutex_consistent(&mutex));
    probe("unlock", pthread_mutex_unlock(&mutex));
    probe("trylock after that", pthread_mutex_trylock(&mutex));
  }
};

}  // namespace conformance
