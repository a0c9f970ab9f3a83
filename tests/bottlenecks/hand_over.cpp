// Fork and join in short steps: a barrier of a mutex and a condition variable, at which threads go
// to sleep, and are let go, thousands of times a second.
#include "work.hpp"

namespace {

class barrier {
 public:
  explicit barrier(unsigned threads) : threads_{threads} {}

  // False once any thread wanted to stop.
  bool meet(bool go_on) {
    const work::guard hold{mutex_};
    stopped_ = stopped_ || !go_on;
    if (++arrived_ == threads_) {
      arrived_ = 0;
      ++round_;
      ended_ = stopped_;
      pthread_cond_broadcast(&next_);
      return !ended_;
    }
    for (const unsigned mine = round_; mine == round_;) pthread_cond_wait(&next_, &mutex_);
    return !ended_;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t next_ = PTHREAD_COND_INITIALIZER;
  unsigned threads_;
  unsigned arrived_ = 0;
  unsigned round_ = 0;
  bool stopped_ = false;
  bool ended_ = false;
};

}  // namespace

int main() {
  const work::clock clock{std::chrono::milliseconds{400}};
  const unsigned threads = work::processors();
  barrier step{threads};
  work::in_threads(threads, [&](unsigned) {
    do work::compute(3'000);
    while (step.meet(clock.runs()));
  });
}
