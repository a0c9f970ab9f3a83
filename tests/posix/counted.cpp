// A program with a known number of locking calls: it executes its arguments as commands, and
// prints nothing.
//
//   locks M N        N lock+unlock pairs on each of M mutexes
//   trylock N K      N successful trylocks of one mutex, then K refused ones
//   timedlock N      N timed locks of one free mutex, then one that times out
//   recursive N      N nested locks of one recursive mutex
//   contended N      N times: another thread waits for the held mutex
//   wait N           N waits on a condition variable, each ended by a signal
//   timeout N        N waits ended by their deadline
//   reinit N         N mutexes in succession at the same address
//   shared N         N lock+unlock pairs on a process-shared mutex
//   rwlock N K       N reads, nested, then K writes of one reader-writer lock
//   spin N           N lock+unlock pairs on a spin lock
//   fork             the rest of the words in a child, which is awaited
//   exec             the rest of the words in a new program
//   kill             the process ends by SIGKILL
#include "../support/check.hpp"

#include <sys/wait.h>
#include <algorithm>
#include <csignal>
#include <string_view>

namespace {

void locks(long mutexes, long rounds) {
  std::vector<pthread_mutex_t> all(static_cast<std::size_t>(mutexes), PTHREAD_MUTEX_INITIALIZER);
  for (auto& mutex : all)
    for (long i = 0; i < rounds; ++i) {
      OK(pthread_mutex_lock(&mutex));
      OK(pthread_mutex_unlock(&mutex));
    }
}

void rwlock(long reads, long writes) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (long i = 0; i < reads; ++i)
    OK(i % 2 == 0 ? pthread_rwlock_rdlock(&lock) : pthread_rwlock_tryrdlock(&lock));
  for (long i = 0; i < reads; ++i) OK(pthread_rwlock_unlock(&lock));
  for (long i = 0; i < writes; ++i) {
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
  }
}

void spin(long times) {
  pthread_spinlock_t lock;
  OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
  for (long i = 0; i < times; ++i) {
    OK(pthread_spin_lock(&lock));
    CHECK_RC(EBUSY, pthread_spin_trylock(&lock));
    OK(pthread_spin_unlock(&lock));
  }
}

void trylock(long taken, long refused) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (long i = 0; i < taken; ++i) {
    OK(pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }
  OK(pthread_mutex_lock(&mutex));
  for (long i = 0; i < refused; ++i) CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
  OK(pthread_mutex_unlock(&mutex));
}

void timedlock(long taken) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const timespec later = check::after_ms(CLOCK_REALTIME, 60'000);
  for (long i = 0; i < taken; ++i) {
    OK(pthread_mutex_timedlock(&mutex, &later));
    OK(pthread_mutex_unlock(&mutex));
  }
  OK(pthread_mutex_timedlock(&mutex, &later));
  const timespec soon = check::after_ms(CLOCK_REALTIME, 2);
  CHECK_RC(ETIMEDOUT, pthread_mutex_timedlock(&mutex, &soon));
  OK(pthread_mutex_unlock(&mutex));
}

void recursive(long depth) {
  check::Mutex mutex{PTHREAD_MUTEX_RECURSIVE};
  for (long i = 0; i < depth; ++i) OK(pthread_mutex_lock(mutex));
  for (long i = 0; i < depth; ++i) OK(pthread_mutex_unlock(mutex));
}

void contended(long times) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (long i = 0; i < times; ++i) {
    OK(pthread_mutex_lock(&mutex));
    check::Waiter waiter{&mutex};
    OK(pthread_mutex_unlock(&mutex));
    waiter.join();
  }
}

// One lock per waiter and one per signaller and round: the signaller's is free because the waiter
// released it in its wait, and the waiter starts only when the signaller has ended.
void wait(long times) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  for (long i = 0; i < times; ++i) {
    check::Worker waiter{[&](check::Worker& self) {
      OK(pthread_mutex_lock(&mutex));
      self.about_to_block();
      OK(pthread_cond_wait(&cond, &mutex));
      OK(pthread_mutex_unlock(&mutex));
    }};
    waiter.wait_until_blocked();
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    waiter.join();
  }
}

void timeout(long times) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  OK(pthread_mutex_lock(&mutex));
  for (long i = 0; i < times; ++i) {
    const timespec soon = check::after_ms(CLOCK_REALTIME, i % 2);  // every other one has passed
    CHECK_RC(ETIMEDOUT, pthread_cond_timedwait(&cond, &mutex, &soon));
  }
  OK(pthread_mutex_unlock(&mutex));
}

void reinit(long times) {
  pthread_mutex_t mutex;
  for (long i = 0; i < times; ++i) {
    OK(pthread_mutex_init(&mutex, nullptr));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
  }
}

void shared(long times) {
  pthread_mutex_t mutex;
  pthread_mutexattr_t attributes;
  OK(pthread_mutexattr_init(&attributes));
  OK(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
  OK(pthread_mutex_init(&mutex, &attributes));
  for (long i = 0; i < times; ++i) {
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }
}

// What a word does, with one number or with two.
struct Action {
  std::string_view word;
  void (*one)(long);
  void (*two)(long, long) = nullptr;
};
constexpr Action actions[] = {{"locks", nullptr, locks},   {"trylock", nullptr, trylock},
                              {"rwlock", nullptr, rwlock}, {"spin", spin},
                              {"timedlock", timedlock},    {"recursive", recursive},
                              {"contended", contended},    {"wait", wait},
                              {"timeout", timeout},        {"reinit", reinit},
                              {"shared", shared}};

void rest_in_a_child(char** words);

void execute(char** words) {
  auto number = [&words] {
    CHECK(words[1] != nullptr);
    return std::strtol(*++words, nullptr, 10);
  };
  for (; *words != nullptr; ++words) {
    const std::string word = *words;
    const auto* known = std::ranges::find(actions, word, &Action::word);
    if (known != std::end(actions)) {
      const long first = number();
      known->one != nullptr ? known->one(first) : known->two(first, number());
    } else if (word == "fork") {
      rest_in_a_child(words + 1);
      return;
    } else if (word == "exec") {
      char self[] = "/proc/self/exe";
      words[0] = self;
      execv(self, words);
      check::fail_at(__FILE__, __LINE__, "exec failed");
    } else if (word == "kill") {
      std::raise(SIGKILL);
    } else {
      check::fail_at(__FILE__, __LINE__, "no such word: %s", word.c_str());
    }
  }
}

void rest_in_a_child(char** words) {
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    execute(words);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(status == 0 || WIFSIGNALED(status));
}

}  // namespace

int main(int, char** argv) { execute(argv + 1); }
