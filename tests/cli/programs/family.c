/* family FILE LOCK: takes a mutex. If the library named LOCK is preloaded, starts a grandchild
   that leaves the process group and whose parent ends, writes its process id to FILE, and hangs
   together with it. Under any other library it ends at once. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(int count, char** words) {
  char library[128];
  const char* preload = getenv("LD_PRELOAD");
  if (count < 3 || preload == NULL) return 1;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  snprintf(library, sizeof library, "liblockwright-%s.so", words[2]);
  if (strstr(preload, library) == NULL) return 0;
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      int file = open(words[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
      dprintf(file, "%d\n", getpid());
      for (;;) pause();
    }
    _exit(0);
  }
  for (;;) pause();
}
