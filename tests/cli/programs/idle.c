/* Takes no mutex. */
#include <stdio.h>

int main(void) {
  puts("idle");
  return 0;
}
