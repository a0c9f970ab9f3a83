// A sandbox that kills a process that calls gettid, but allows futex calls: installed before the
// program and its libraries are loaded, or late, when some threads have locked and others have not.
#include "../support/check.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <csignal>
#include <cstddef>

namespace {

// Applies to all threads of the process and to all programs that it starts.
void forbid_gettid() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = std::size(program), .filter = program};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
}

int status_of(pid_t pid) {
  CHECK(pid > 0);
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

void use_each_type() {
  pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
  OK(pthread_mutex_lock(&recursive));
  OK(pthread_mutex_lock(&recursive));
  OK(pthread_mutex_unlock(&recursive));
  OK(pthread_mutex_unlock(&recursive));
  CHECK_RC(EPERM, pthread_mutex_unlock(&recursive));
  OK(pthread_mutex_lock(&checked));
  CHECK_RC(EDEADLK, pthread_mutex_lock(&checked));
  OK(pthread_mutex_unlock(&checked));
  CHECK_RC(EPERM, pthread_mutex_unlock(&checked));
  for (pthread_mutex_t* each : {&normal, &recursive, &checked, &adaptive}) {
    OK(pthread_mutex_lock(each));
    check::in_parallel(1, [&](int) {
      const timespec soon = check::after_ms(CLOCK_REALTIME, 2);
      CHECK_RC(EBUSY, pthread_mutex_trylock(each));
      CHECK_RC(ETIMEDOUT, pthread_mutex_timedlock(each, &soon));
    });
    OK(pthread_mutex_unlock(each));
    OK(pthread_mutex_trylock(each));
    OK(pthread_mutex_unlock(each));
    OK(pthread_mutex_destroy(each));
  }
}

void contend() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  check::count_under(&mutex, 4, 500);
}

void wait_on_condition_variables() {
  pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  int turn = 0;
  check::in_parallel(3, [&](int self) {
    for (int i = 0; i < 30; ++i) {
      OK(pthread_mutex_lock(&mutex));
      while (turn % 3 != self) OK(pthread_cond_wait(&changed, &mutex));
      ++turn;
      OK(pthread_cond_broadcast(&changed));
      OK(pthread_mutex_unlock(&mutex));
    }
  });
  CHECK_EQ(90, turn);
  OK(pthread_mutex_lock(&mutex));
  const timespec soon = check::after_ms(CLOCK_REALTIME, 2);
  CHECK_RC(ETIMEDOUT, pthread_cond_timedwait(&changed, &mutex, &soon));
  OK(pthread_mutex_unlock(&mutex));
}

void use_other_objects() {
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  OK(pthread_rwlock_wrlock(&rwlock));
  OK(pthread_rwlock_unlock(&rwlock));
  OK(pthread_rwlock_rdlock(&rwlock));
  OK(pthread_rwlock_unlock(&rwlock));
  sem_t semaphore;
  CHECK(sem_init(&semaphore, 0, 0) == 0);
  check::in_parallel(
      2, [&](int self) { CHECK((self == 0 ? sem_wait(&semaphore) : sem_post(&semaphore)) == 0); });
}

// Uses a mutex that the parent holds, among others.
void use_in_a_child() {
  pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  OK(pthread_mutex_lock(&held));
  const pid_t pid = fork();
  if (pid == 0) {
    OK(pthread_mutex_unlock(&held));
    OK(pthread_mutex_lock(&held));
    wait_on_condition_variables();
    contend();
    _exit(0);
  }
  CHECK_EQ(0, status_of(pid));
  OK(pthread_mutex_unlock(&held));
}

std::string use_everything() {
  use_each_type();
  contend();
  wait_on_condition_variables();
  use_other_objects();
  use_in_a_child();
  return "";
}

char self[] = "/proc/self/exe";
char use[] = "everything";
char* const again[] = {self, use, nullptr};

std::string before_it_starts() {
  const pid_t pid = fork();
  if (pid == 0) {
    forbid_gettid();
    // The started program's output is discarded.
    CHECK(dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1) == 1);
    execv(self, again);
    _exit(1);
  }
  CHECK_EQ(0, status_of(pid));
  return "";
}

// Includes a thread that has not locked before. Must be the last case: gettid stays forbidden.
std::string late() {
  check::Gate go;
  check::Worker fresh{[&](check::Worker&) {
    go.pass();
    use_everything();
  }};
  forbid_gettid();
  go.open();
  use_everything();
  fresh.join();
  const pid_t pid = fork();
  if (pid == 0) {
    syscall(SYS_gettid);
    _exit(0);
  }
  const int status = status_of(pid);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(
      argc, argv, {{use, use_everything}, {"before it starts", before_it_starts}, {"late", late}});
}
