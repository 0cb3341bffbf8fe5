/* A wall clock that is CLOCK_AHEAD_S seconds ahead, for the processes that load it (LD_PRELOAD): as on a machine whose clock nobody
   sets. All other clocks are as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t ahead(void) {
  const char *text = getenv("CLOCK_AHEAD_S");
  return text ? (time_t)atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (out) *out = exact.tv_sec;
  return exact.tv_sec;
}
