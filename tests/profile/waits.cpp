// Waits of known number, length and waker for each kind of object. Prints, for each, the number of
// waits and their nanoseconds by the clock.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

constexpr int rounds = 30;
constexpr int few_rounds = 12;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_cond_t unheard = PTHREAD_COND_INITIALIZER;
sem_t semaphore;
sem_t plenty;
pthread_barrier_t barrier;
once_flag once = ONCE_FLAG_INIT;
pthread_once_t retried = PTHREAD_ONCE_INIT;
sem_t never_posted;
std::atomic<std::uint32_t> word{0};

namespace {

/// The waits of the thread that waits, and their time.
struct truth {
  const char* name;
  int waits = 0;
  std::uint64_t waited = 0;
};
truth of_condition{"condition"};
truth of_unheard{"unheard"};
truth of_semaphore{"semaphore"};
truth of_barrier{"barrier"};
truth of_once{"once"};
truth of_word{"word"};
truth of_retried{"retried"};
truth of_cancelled{"never_posted"};
truth of_join{"join"};

int items = 0;
std::atomic<int> waiting{0};
std::atomic<bool> is_initialising{false};

std::uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void sleep_ms(int ms) {
  const timespec time{.tv_sec = 0, .tv_nsec = ms * 1000000L};
  nanosleep(&time, nullptr);
}

template <class Wait>
void measure(truth& of, Wait wait) {
  waiting = 1;
  const std::uint64_t begin = now();
  wait();
  of.waited += now() - begin;
  ++of.waits;
}

/// Returns some milliseconds after the other thread has begun to wait.
void await_waiter() {
  while (waiting.exchange(0) == 0) {
    sched_yield();
  }
  sleep_ms(4);
}

void* wait_for_each(void* /*unused*/) {
  for (int i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&mutex);
    while (items == 0) {
      measure(of_condition, [] { pthread_cond_wait(&condition, &mutex); });
    }
    --items;
    pthread_mutex_unlock(&mutex);
    measure(of_semaphore, [] { sem_wait(&semaphore); });
    sem_wait(&plenty);
    measure(of_barrier, [] { pthread_barrier_wait(&barrier); });
    measure(of_word, [] { syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0); });
    word = 0;
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);  // no wait: it is 0
  }
  timespec deadline{};
  for (int i = 0; i < few_rounds; ++i) {
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += 3000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    measure(of_unheard, [&] { pthread_cond_timedwait(&unheard, &mutex, &deadline); });
    pthread_mutex_unlock(&mutex);
  }
  while (!is_initialising) {
    sched_yield();
  }
  measure(of_once, [] { call_once(&once, [] {}); });
  return nullptr;
}

void* sleep_once(void* /*unused*/) {
  sleep_ms(5);
  return nullptr;
}

[[gnu::noinline]] void signal_condition() {
  pthread_mutex_lock(&mutex);
  ++items;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
}
[[gnu::noinline]] void post_semaphore() {
  sem_post(&semaphore);
  asm volatile("");
}
[[gnu::noinline]] void come_to_barrier() {
  pthread_barrier_wait(&barrier);
  asm volatile("");
}
[[gnu::noinline]] void wake_word() {
  word = 1;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  asm volatile("");
}
std::atomic<std::uint64_t> ran{0};

void* compute(void* /*unused*/) {
  timespec time{};
  std::uint64_t ns = 0;
  while (ns < 60000000) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    ns = static_cast<std::uint64_t>(time.tv_nsec) +
         1000000000U * static_cast<std::uint64_t>(time.tv_sec);
  }
  ran += ns;
  return nullptr;
}

void compute_together() {
  pthread_t threads[3];
  for (pthread_t& each : threads) {
    pthread_create(&each, nullptr, compute, nullptr);
  }
  for (pthread_t each : threads) {
    pthread_join(each, nullptr);
  }
}

[[gnu::noinline]] void join_threads() {
  for (int i = 0; i < few_rounds; ++i) {
    pthread_t thread{};
    pthread_create(&thread, nullptr, sleep_once, nullptr);
    measure(of_join, [thread] { pthread_join(thread, nullptr); });
  }
}

void throw_first() {
  static int calls = 0;
  if (++calls == 1) {
    is_initialising = true;
    sleep_ms(40);
    throw std::runtime_error("first");
  }
  of_retried.waited += now();
  sleep_ms(40);
}

/// A thread waits for an initialisation that an exception leaves, and makes it itself.
void* retry_initialisation(void* /*unused*/) {
  while (!is_initialising) {
    sched_yield();
  }
  of_retried.waited -= now();
  ++of_retried.waits;
  pthread_once(&retried, throw_first);
  return nullptr;
}

void leave_initialisation() {
  is_initialising = false;
  pthread_t thread{};
  pthread_create(&thread, nullptr, retry_initialisation, nullptr);
  bool is_left = false;
  try {
    pthread_once(&retried, throw_first);
  } catch (const std::runtime_error&) {
    is_left = true;
  }
  pthread_join(thread, nullptr);
  if (!is_left) {
    std::abort();
  }
}

void* wait_until_cancelled(void* /*unused*/) {
  pthread_cleanup_push([](void*) { of_cancelled.waited += now(); }, nullptr);
  waiting = 1;
  of_cancelled.waited -= now();
  ++of_cancelled.waits;
  sem_wait(&never_posted);
  pthread_cleanup_pop(0);
  return nullptr;
}

void cancel_wait() {
  pthread_t thread{};
  pthread_create(&thread, nullptr, wait_until_cancelled, nullptr);
  await_waiter();
  sleep_ms(20);
  pthread_cancel(thread);
  pthread_join(thread, nullptr);
}

/// The C library refuses it, and the semaphore stays free.
void check_invalid_deadline() {
  sem_post(&plenty);
  const timespec invalid{.tv_sec = 0, .tv_nsec = -1};
  if (sem_timedwait(&plenty, &invalid) != -1 || errno != EINVAL || sem_trywait(&plenty) != 0) {
    std::abort();
  }
}

}  // namespace

int main() {
  sem_init(&never_posted, 0, 0);
  sem_init(&semaphore, 0, 0);
  sem_init(&plenty, 0, rounds);
  pthread_barrier_init(&barrier, nullptr, 2);
  pthread_t thread{};
  pthread_create(&thread, nullptr, wait_for_each, nullptr);
  for (int i = 0; i < rounds; ++i) {
    await_waiter();
    signal_condition();
    await_waiter();
    post_semaphore();
    await_waiter();
    come_to_barrier();
    await_waiter();
    wake_word();
  }
  // The deadlines pass.
  while (of_unheard.waits < few_rounds) {
    sleep_ms(1);
  }
  call_once(&once, [] {
    is_initialising = true;
    sleep_ms(40);
  });
  pthread_join(thread, nullptr);
  leave_initialisation();
  cancel_wait();
  check_invalid_deadline();
  join_threads();
  compute_together();
  std::printf("{\"compute\": [3, %llu]", static_cast<unsigned long long>(ran.load()));
  const char* between = ", ";
  for (const truth& each : {of_condition, of_unheard, of_semaphore, of_barrier, of_once, of_word,
                            of_retried, of_cancelled, of_join}) {
    std::printf("%s\"%s\": [%d, %llu]", between, each.name, each.waits,
                static_cast<unsigned long long>(each.waited));
  }
  std::printf("}\n");
  return 0;
}
