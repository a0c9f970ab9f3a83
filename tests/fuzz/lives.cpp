// Steps in which a signal, a fork or an end befalls a thread.
#include "program.hpp"

#include <sys/wait.h>
#include <csignal>

namespace fuzz {

bool Program::interrupt(int member) {
  if (is_idle(member)) return false;
  if (blocked(member).what == Blocked::sem) return false;  // may end with EINTR
  const int before = handled.load();
  pthread_kill(crew(member).handle(), SIGUSR1);
  while (handled.load() == before) usleep(50);
  settle();
  std::printf("%d interrupt t%d: %s\n", number_, member,
              crew(member).is_working() ? "goes on" : "is through");
  report();
  return true;
}

bool Program::replace(int member) {
  if (!is_idle(member) || !holds_no_rwlock(member)) return false;
  for (Mutex& one : mutex_) {
    if (one.owner == member && one.kind != Kind::robust) return false;
  }
  const std::string end = crew(member).renew(false);
  for (int m = 0; m < mutexes; ++m) {
    if (mutex_[m].owner == member) released(m);
  }
  std::printf("%d replace t%d: %s\n", number_, member, end.c_str());
  settle();
  report();
  return true;
}

bool Program::fork_by(int member) {
  if (!is_idle(member)) return false;
  run(member, "fork", {}, [this, member] { return in_a_child(member); });
  return true;
}

std::string Program::in_a_child(int member) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const std::string told = child_says(member);
    if (write(ends[1], told.data(), told.size()) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  std::string told;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    told.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return told +
         (WIFSIGNALED(status) ? ", killed" : ", exit " + std::to_string(WEXITSTATUS(status)));
}

std::string Program::child_says(int member) {
  std::string told;
  for (int m = 0; m < mutexes; ++m) {
    Mutex& on = mutex_[m];
    // Of a robust or a protocol mutex the kernel knows the parent's thread as the owner.
    if (on.kind == Kind::robust || on.kind == Kind::inherit || on.kind == Kind::shared ||
        on.kind == Kind::errorcheck || on.kind == Kind::recursive) {
      continue;
    }
    if (on.owner == member) {
      for (int i = on.depth; i > 0; --i) told += say(" unlock", pthread_mutex_unlock(&on.it));
    } else if (on.owner != nobody) {
      told += say(" trylock", pthread_mutex_trylock(&on.it));
      continue;
    }
    told += say(" lock", pthread_mutex_lock(&on.it));
    told += say(" trylock", pthread_mutex_trylock(&on.it));
    told += say(" unlock", pthread_mutex_unlock(&on.it));
  }
  static Mutex fresh;
  static Cond turn;
  static bool come = false;
  pthread_t other;
  pthread_mutex_lock(&fresh.it);
  const int made = pthread_create(
      &other, nullptr,
      [](void*) -> void* {
        pthread_mutex_lock(&fresh.it);
        come = true;
        pthread_cond_signal(&turn.it);
        pthread_mutex_unlock(&fresh.it);
        return nullptr;
      },
      nullptr);
  told += say(" create", made);
  while (made == 0 && !come) told += say(" wait", pthread_cond_wait(&turn.it, &fresh.it));
  pthread_mutex_unlock(&fresh.it);
  if (made == 0) pthread_join(other, nullptr);
  return told;
}

}  // namespace fuzz
