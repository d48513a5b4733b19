/* SPDX-License-Identifier: BSD-3-Clause */
#include "nuisance.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

enum { MOST_DESCRIPTORS = 4096 };

static const char* what = "none";
static volatile sig_atomic_t signals;
static int descriptors[MOST_DESCRIPTORS], held;
static struct rlimit allowed;

static bool is(const char* kind) { return 0 == strcmp(what, kind); }

static void count_signal(int number) {
  (void)number;
  signals++;
}

static void begin_signals(void) {
  struct sigaction action = {.sa_handler = count_signal};  // without SA_RESTART
  const struct itimerval every = {{0, 1000}, {0, 1000}};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &every, NULL);
}

static void take_descriptors(void) {
  getrlimit(RLIMIT_NOFILE, &allowed);
  struct rlimit few = allowed;
  if (few.rlim_cur > MOST_DESCRIPTORS) {
    few.rlim_cur = MOST_DESCRIPTORS;
    setrlimit(RLIMIT_NOFILE, &few);
  }
  for (int fd = dup(STDIN_FILENO); fd >= 0 && held < MOST_DESCRIPTORS; fd = dup(STDIN_FILENO)) {
    descriptors[held++] = fd;
  }
}

/// As much as the process has now, and no more.
static void limit_memory(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  test_that(NULL != file && 1 == fscanf(file, "%lu", &pages), "how much memory there is cannot be told");
  if (NULL != file) {
    fclose(file);
  }
  getrlimit(RLIMIT_AS, &allowed);
  struct rlimit now = {pages * (unsigned long)sysconf(_SC_PAGESIZE), allowed.rlim_max};
  setrlimit(RLIMIT_AS, &now);
}

bool nuisance_begin(const char* kind) {
  what = kind;
  if (is("signals")) {
    begin_signals();
  } else if (is("descriptors")) {
    take_descriptors();
  } else if (is("memory")) {
    limit_memory();
  }
  return is("signals") || is("descriptors") || is("memory") || is("forks") || is("none");
}

void nuisance_between_calls(void) {
  if (!is("forks")) {
    return;
  }
  pid_t child = fork();
  if (0 == child) {
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  test_that(0 == status, "a child ended with status %d", status);
}

void nuisance_end(void) {
  if (is("descriptors")) {
    test_that(held > 100, "only %d descriptors could be taken", held);
    while (held > 0) {
      close(descriptors[--held]);
    }
    setrlimit(RLIMIT_NOFILE, &allowed);
  } else if (is("memory")) {
    setrlimit(RLIMIT_AS, &allowed);
  } else if (is("signals")) {
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    test_that(signals > 100, "only %d signals came", (int)signals);
  }
}
