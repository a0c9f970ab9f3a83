// A lost wake-up that needs a thread to be stopped between two certain instructions is not met by
// chance. Here two threads pass a turn to and fro by a mutex and a condition variable that no thread
// has used before. In each round one of them is stopped by a breakpoint before another instruction of
// the lock's library, until the other one has ended or sleeps; in every round both have to end.
//
// Arguments: the number of seconds after which a round counts as hung, and a number of seconds for
// which both threads are stopped at random. Without the second one, there is one stop in each round, at
// every address that a first round reaches.
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <algorithm>
#include <random>
#include "../support/check.hpp"

namespace {

constexpr int handovers = 2;  // of each thread
constexpr double patience_s = 0.02;

double round_limit_s = 0;

using code = volatile std::uint8_t;
constexpr std::uint8_t int3 = 0xcc;

// Which thread is stopped: the one that has the first turn, or the other. And how far the other one
// gets before.
struct meeting {
  int first;
  enum { later, asleep, inside } how;
};
constexpr meeting meetings[] = {{0, meeting::later},  {1, meeting::later},  {0, meeting::asleep},
                                {1, meeting::asleep}, {0, meeting::inside}, {1, meeting::inside}};
constexpr const char* names[] = {"the other one comes at the stop",
                                 "the other one comes first, until it sleeps",
                                 "the other one comes first, and has the mutex"};

struct stop {
  code* at = nullptr;  // null: none
  int passes = 0;      // how often the thread gets past it before
};

struct taker {
  int me = 0;
  bool waits_inside = false;
  std::vector<code*>* steps = nullptr;  // to be recorded
  stop where;
  int passed = 0;
  code* steps_over = nullptr;
  std::atomic<pid_t> tid{0};
  std::atomic<int> inside{0};
  std::atomic<int> stopped{0};
  std::atomic<int> proceeds{0};
  std::atomic<int> ended{0};
};

struct table {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
  int turn = 0;
  taker takers[2];
};

table* now;
thread_local taker* self;

// The C library's: the library under test has a function of that name too.
const auto kernel = reinterpret_cast<decltype(&syscall)>(
    dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "syscall"));

void sleep_while_zero(std::atomic<int>& word) {
  while (word.load() == 0) kernel(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
}

void set(std::atomic<int>& word) {
  word.store(1);
  kernel(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// The instructions that the threads stop at in a round, and their first bytes. A breakpoint stays until
// its thread has stopped; the other one steps over it.
class breakpoints {
 public:
  void plant(int thread, code* at) {
    if (at == nullptr) return;
    original_[thread] = at_[1 - thread] == at ? original_[1 - thread] : *at;
    at_[thread] = at;
    *at = int3;
  }
  void remove(int thread) {
    if (code* const at = at_[thread].exchange(nullptr)) {
      *at = original_[thread];
      show(at);
    }
  }
  void hide(code* at) const {
    for (int i = 0; i < 2; ++i) {
      if (at_[i] == at) *at = original_[i];
    }
  }
  void show(code* at) const {
    if (at_[0] == at || at_[1] == at) *at = int3;
  }

 private:
  std::atomic<code*> at_[2] = {};
  std::uint8_t original_[2] = {};
} planted;

constexpr greg_t trap_flag = 0x100;

// Called at a breakpoint, and after each instruction while the trap flag is set.
void on_trap(int, siginfo_t* trap, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  taker& mine = *self;
  if (trap->si_code == TRAP_TRACE) {
    if (mine.steps == nullptr) {
      registers[REG_EFL] &= ~trap_flag;
      planted.show(mine.steps_over);
    } else if (mine.steps->size() < mine.steps->capacity()) {
      mine.steps->push_back(reinterpret_cast<code*>(registers[REG_RIP]));
    }
    return;
  }
  auto* const at = reinterpret_cast<code*>(--registers[REG_RIP]);
  if (at == mine.where.at && mine.passed++ == mine.where.passes) {
    planted.remove(mine.me);
    mine.stopped.store(1);
    sleep_while_zero(mine.proceeds);
    return;
  }
  planted.hide(at);
  mine.steps_over = at;
  registers[REG_EFL] |= trap_flag;
}

// They push below the red zone to preserve it.
[[gnu::always_inline]] inline void begin_steps() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}
[[gnu::always_inline]] inline void end_steps() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $-0x101, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), "
      "%%rsp" ::
          : "memory", "cc");
}

void* take_turns(void* argument) {
  taker& mine = *static_cast<taker*>(argument);
  self = &mine;
  mine.tid.store(gettid());
  if (mine.steps != nullptr) begin_steps();
  pthread_mutex_lock(&now->mutex);
  if (mine.waits_inside) {
    mine.inside.store(1);
    sleep_while_zero(mine.proceeds);
  }
  for (int i = 0; i < handovers; ++i) {
    while (now->turn != mine.me) pthread_cond_wait(&now->turned, &now->mutex);
    now->turn = !mine.me;
    pthread_cond_signal(&now->turned);
  }
  pthread_mutex_unlock(&now->mutex);
  if (mine.steps != nullptr) end_steps();
  mine.ended.store(1);
  return nullptr;
}

double seconds_now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

class round_of {
 public:
  round_of(const meeting& how, const stop& first, const stop& other) : how_(how) {
    a_.me = how.first;
    a_.where = first;
    b_.me = 1 - how.first;
    b_.where = other;
    b_.waits_inside = how.how == meeting::inside;
    now = &table_;
  }

  void record(std::vector<code*>& first, std::vector<code*>& other) {
    a_.steps = &first;
    b_.steps = &other;
  }

  void run() {
    planted.plant(a_.me, a_.where.at);
    planted.plant(b_.me, b_.where.at);
    taker* const order[] = {how_.how == meeting::later ? &a_ : &b_,
                            how_.how == meeting::later ? &b_ : &a_};
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
      OK(pthread_create(&threads[i], nullptr, take_turns, order[i]));
      until_it_rests(*order[i]);
    }
    if (b_.waits_inside) set(b_.proceeds);
    // One at a time, as far as it comes.
    while (a_.ended.load() == 0 || b_.ended.load() == 0) {
      if (seconds_now() > limit_) fail();
      until_it_rests(b_);
      proceed(a_);
      until_it_rests(a_);
      proceed(b_);
    }
    for (pthread_t each : threads) OK(pthread_join(each, nullptr));
    planted.remove(0);
    planted.remove(1);
  }

 private:
  static void proceed(taker& who) {
    if (who.stopped.load() != 0 && who.proceeds.load() == 0) set(who.proceeds);
  }

  // Returns once the thread is stopped, sleeps or has ended; or after some time, for it may poll until
  // the other one goes on.
  static void until_it_rests(const taker& who) {
    const double end = seconds_now() + patience_s;
    do {
      const timespec pause{0, 100'000};
      nanosleep(&pause, nullptr);
      if (who.ended.load() != 0) return;
      if (who.proceeds.load() == 0 && (who.stopped.load() != 0 || who.inside.load() != 0)) return;
      if (who.tid.load() != 0 && check::sleeps(who.tid.load())) return;
    } while (seconds_now() < end);
  }

  void fail() const {
    check::fail_at(__FILE__, __LINE__,
                   "thread %d does not end; thread %d stops at 0x%lx of the library, the other one "
                   "at 0x%lx; %s",
                   a_.ended.load() == 0 ? a_.me : b_.me, a_.me, offset_of(a_), offset_of(b_),
                   names[how_.how]);
  }

  // In the lock's library; 0 without a stop.
  static long offset_of(const taker& who) {
    Dl_info library{};
    if (dladdr(const_cast<std::uint8_t*>(who.where.at), &library) == 0) return 0;
    return static_cast<long>(who.where.at - static_cast<std::uint8_t*>(library.dli_fbase));
  }

  meeting how_;
  table table_;
  taker& a_ = table_.takers[0];
  taker& b_ = table_.takers[1];
  double limit_ = seconds_now() + round_limit_s;
};

const void* library_of(const void* address) {
  Dl_info found{};
  return dladdr(address, &found) != 0 ? found.dli_fbase : nullptr;
}

// The addresses in the library of the condition variable, each once; makes them writable.
std::vector<code*> addresses_of(std::vector<code*> steps) {
  const void* const library = library_of(dlsym(RTLD_DEFAULT, "pthread_cond_wait"));
  // The handler uses the C library.
  CHECK(library != library_of(reinterpret_cast<const void*>(kernel)));
  std::erase_if(
      steps, [library](code* at) { return library_of(const_cast<std::uint8_t*>(at)) != library; });
  std::ranges::sort(steps);
  const auto rest = std::ranges::unique(steps);
  steps.erase(rest.begin(), rest.end());
  CHECK(!steps.empty());
  constexpr std::uintptr_t page = 4096;
  for (code* at : steps) {
    auto* const begin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) / page * page);
    CHECK(mprotect(begin, page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  }
  return steps;
}

struct addresses {
  std::vector<code*> first;
  std::vector<code*> other;
};

addresses recorded(const meeting& how) {
  // What a process does once is not met again.
  round_of(how, {}, {}).run();
  // Reserved, since the handler of a signal must not allocate.
  addresses steps;
  steps.first.reserve(1'000'000);
  steps.other.reserve(1'000'000);
  round_of once(how, {}, {});
  once.record(steps.first, steps.other);
  once.run();
  return {addresses_of(steps.first), addresses_of(steps.other)};
}

void at_every_address() {
  for (const meeting& how : meetings) {
    const addresses known = recorded(how);
    for (code* at : known.first) round_of(how, {at}, {}).run();
    std::printf("ok: thread %d at %zu addresses; %s\n", how.first, known.first.size(),
                names[how.how]);
  }
}

void at_random(double seconds) {
  std::vector<addresses> known;
  for (const meeting& how : meetings) known.push_back(recorded(how));
  std::minstd_rand random(static_cast<unsigned>(getpid()));
  const auto draw = [&](std::size_t limit) { return random() % limit; };
  const auto draw_stop = [&](const std::vector<code*>& from) {
    return stop{from[draw(from.size())], static_cast<int>(draw(2))};
  };
  const double end = seconds_now() + seconds;
  long rounds = 0;
  for (; seconds_now() < end; ++rounds) {
    const std::size_t which = draw(known.size());
    const stop first = draw_stop(known[which].first);
    round_of(meetings[which], first, draw_stop(known[which].other)).run();
  }
  std::printf("ok: %ld rounds\n", rounds);
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
  CHECK(prctl(PR_SET_TIMERSLACK, 1) == 0);
  CHECK(argc > 1);
  round_limit_s = std::atof(argv[1]);
  if (argc > 2) {
    at_random(std::atof(argv[2]));
  } else {
    at_every_address();
  }
}
