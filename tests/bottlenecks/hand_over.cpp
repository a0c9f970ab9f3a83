// A barrier of a mutex and a condition variable, at which threads sleep and are woken thousands of
// times a second.
#include "work.hpp"

namespace {

class barrier {
 public:
  explicit barrier(unsigned threads) : threads_{threads} {}

  // Returns false once any thread has passed false.
  bool wait(bool continues) {
    const work::guard hold{mutex_};
    stopped_ = stopped_ || !continues;
    if (++arrived_ == threads_) {
      arrived_ = 0;
      ++round_;
      ended_ = stopped_;
      pthread_cond_broadcast(&next_);
      return !ended_;
    }
    for (const unsigned current = round_; current == round_;) pthread_cond_wait(&next_, &mutex_);
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
    while (step.wait(clock.runs()));
  });
}
