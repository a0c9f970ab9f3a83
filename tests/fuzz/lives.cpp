// Steps with signals to threads, forks, and ends of threads.
#include "program.hpp"

#include <sys/wait.h>
#include <csignal>

namespace fuzz {

bool Program::interrupt(int member) {
  if (is_idle(member)) return false;
  if (blocked(member).what == Blocked::sem) return false;  // may end with EINTR
  const int before = handled.load();
  pthread_kill(thread_of(member).handle(), SIGUSR1);
  while (handled.load() == before) usleep(50);
  settle();
  std::printf("%d interrupt t%d: %s\n", number_, member,
              thread_of(member).is_working() ? "continues" : "has ended");
  report();
  return true;
}

bool Program::replace(int member) {
  if (!is_idle(member) || !holds_no_rwlock(member)) return false;
  for (Mutex& mutex : mutex_) {
    if (mutex.owner == member && mutex.kind != Kind::robust) return false;
  }
  const std::string end = thread_of(member).restart(false);
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
    const std::string line = child_observations(member);
    if (write(ends[1], line.data(), line.size()) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  std::string line;
  char buffer[512];
  for (ssize_t length; (length = read(ends[0], buffer, sizeof buffer)) > 0;) {
    line.append(buffer, static_cast<std::size_t>(length));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return line +
         (WIFSIGNALED(status) ? ", killed" : ", exit " + std::to_string(WEXITSTATUS(status)));
}

std::string Program::child_observations(int member) {
  std::string line;
  for (int m = 0; m < mutexes; ++m) {
    Mutex& mutex = mutex_[m];
    // For the kernel the parent's thread owns a robust mutex, or one with a protocol.
    if (mutex.kind == Kind::robust || mutex.kind == Kind::inherit || mutex.kind == Kind::shared ||
        mutex.kind == Kind::errorcheck || mutex.kind == Kind::recursive) {
      continue;
    }
    if (mutex.owner == member) {
      for (int i = mutex.depth; i > 0; --i)
        line += result_of(" unlock", pthread_mutex_unlock(&mutex.object));
    } else if (mutex.owner != unset) {
      line += result_of(" trylock", pthread_mutex_trylock(&mutex.object));
      continue;
    }
    line += result_of(" lock", pthread_mutex_lock(&mutex.object));
    line += result_of(" trylock", pthread_mutex_trylock(&mutex.object));
    line += result_of(" unlock", pthread_mutex_unlock(&mutex.object));
  }
  static Mutex fresh;
  static Cond changed;
  static bool arrived = false;
  pthread_t other;
  pthread_mutex_lock(&fresh.object);
  const int created = pthread_create(
      &other, nullptr,
      [](void*) -> void* {
        pthread_mutex_lock(&fresh.object);
        arrived = true;
        pthread_cond_signal(&changed.object);
        pthread_mutex_unlock(&fresh.object);
        return nullptr;
      },
      nullptr);
  line += result_of(" create", created);
  while (created == 0 && !arrived)
    line += result_of(" wait", pthread_cond_wait(&changed.object, &fresh.object));
  pthread_mutex_unlock(&fresh.object);
  if (created == 0) pthread_join(other, nullptr);
  return line;
}

}  // namespace fuzz
