// Waits of which no interposition sees any: threads wait for a word by a system call of their own, for
// a mutex that inherits priority, and for a stream of the C library, each of which main keeps for some
// time in each round. Prints the ns that each thread waited.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { rounds = 20, kept_us = 30000, poll_us = 500, kinds = 3 };

static atomic_int word;
static pthread_mutex_t inherited;
static FILE* stream;
static atomic_int round_begun, ended;
static long long waited[kinds];

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long futex(atomic_int* address, int operation, int value) {
  long result;
  register long timeout __asm__("r10") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"((long)SYS_futex), "D"(address), "S"((long)operation), "d"((long)value),
                     "r"(timeout)
                   : "rcx", "r11", "memory");
  return result;
}

__attribute__((noinline)) static void wait_for_word(int round) {
  while (word != round) futex(&word, FUTEX_WAIT_PRIVATE, word);
}

__attribute__((noinline)) static void take_inherited(int round) {
  (void)round;
  pthread_mutex_lock(&inherited);
  pthread_mutex_unlock(&inherited);
}

__attribute__((noinline)) static void write_to_stream(int round) { fprintf(stream, "%d\n", round); }

static void (*const each[kinds])(int) = {wait_for_word, take_inherited, write_to_stream};

static void* run(void* number) {
  const long kind = (long)number;
  for (int round = 1; round <= rounds; ++round) {
    while (round_begun < round) usleep(poll_us);
    const long long begin = now();
    each[kind](round);
    waited[kind] += now() - begin;
    ++ended;
  }
  return NULL;
}

int main(int count, char** arguments) {
  (void)count;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&inherited, &attributes);
  stream = fopen(arguments[1], "w");
  pthread_t threads[kinds];
  for (long kind = 0; kind < kinds; ++kind) pthread_create(&threads[kind], NULL, run, (void*)kind);
  for (int round = 1; round <= rounds; ++round) {
    pthread_mutex_lock(&inherited);
    flockfile(stream);
    round_begun = round;
    usleep(kept_us);
    word = round;
    futex(&word, FUTEX_WAKE_PRIVATE, 1);
    funlockfile(stream);
    pthread_mutex_unlock(&inherited);
    while (ended < kinds * round) usleep(poll_us);
  }
  for (int kind = 0; kind < kinds; ++kind) pthread_join(threads[kind], NULL);
  printf("[%lld, %lld, %lld]\n", waited[0], waited[1], waited[2]);
  return 0;
}
