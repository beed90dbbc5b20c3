/* Holds a pod's network namespace: the program of the pause container. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void end(int signal) { _exit(0); }

int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  for (;;) pause();
}
