// Prints the instructions of an uncontended lock, trylock and unlock of a normal mutex, or, with the
// argument `rdlock` or `wrlock`, of a reader-writer lock by a reader or a writer: one line for each call with its name, the
// file that contains the function, and the offset in that file of every instruction from the first to
// the return. It steps through the calls by the processor's trap flag, so the output is the executed
// path.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include "../support/check.hpp"

namespace {

using function = int(void*);

constexpr int most_steps = 10'000;
std::uintptr_t steps[most_steps];
volatile int recorded = 0;

// Called after each instruction: records the next one.
void on_trap(int, siginfo_t*, void* context) {
  const auto next = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  if (recorded < most_steps) {
    steps[recorded] = static_cast<std::uintptr_t>(next);
    recorded = recorded + 1;
  }
}

// Not inlined, with only the call between the two asm statements, which push below the red zone to
// preserve it.
[[gnu::noinline]] int step_through(function* call, void* lock) {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
  const int result = call(lock);
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $-0x101, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), "
      "%%rsp" ::
          : "memory", "cc");
  return result;
}

// Prints the instructions of the function from the first to its return to the caller.
void print(const char* name, function* called) {
  Dl_info caller;
  Dl_info callee;
  CHECK(dladdr(reinterpret_cast<void*>(&step_through), &caller) != 0);
  CHECK(dladdr(reinterpret_cast<void*>(called), &callee) != 0);
  std::printf("%s %s", name, callee.dli_fname);
  int step = 0;
  while (step < recorded && steps[step] != reinterpret_cast<std::uintptr_t>(called)) ++step;
  CHECK(step < recorded);
  for (; step < recorded; ++step) {
    Dl_info location;
    const bool known = dladdr(reinterpret_cast<void*>(steps[step]), &location) != 0;
    if (known && location.dli_fbase == caller.dli_fbase) {
      std::printf("\n");
      return;
    }
    std::printf(" %lx", static_cast<unsigned long>(
                            steps[step] - reinterpret_cast<std::uintptr_t>(callee.dli_fbase)));
  }
  check::fail_at(__FILE__, __LINE__, "%s did not return within %d steps", name, most_steps);
}

struct named_call {
  const char* name;
  function* call;
};

named_call find(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  CHECK(found != nullptr);
  return {name, reinterpret_cast<function*>(found)};
}

void print_paths(const named_call (&calls)[4], void* lock) {
  // Excludes the work done once for a thread or a lock, and makes a profiler's samples rare.
  for (int i = 0; i < 100'000; ++i) {
    for (const named_call& each : calls) {
      OK(each.call(lock));
    }
  }
  for (const named_call& each : calls) {
    recorded = 0;
    OK(step_through(each.call, lock));
    print(each.name, each.call);
  }
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);

  if (argc > 1) {
    static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    const bool writes = std::strcmp(argv[1], "wrlock") == 0;
    const named_call unlock = find("pthread_rwlock_unlock");
    print_paths({find(writes ? "pthread_rwlock_wrlock" : "pthread_rwlock_rdlock"), unlock,
                 find(writes ? "pthread_rwlock_trywrlock" : "pthread_rwlock_tryrdlock"), unlock},
                &lock);
    return 0;
  }
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const named_call unlock = find("pthread_mutex_unlock");
  print_paths({find("pthread_mutex_lock"), unlock, find("pthread_mutex_trylock"), unlock}, &mutex);
}
