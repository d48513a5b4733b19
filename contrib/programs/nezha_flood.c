/* SPDX-License-Identifier: BSD-3-Clause */
/// nezha_flood ADDRESS PORT RATE SECONDS: connects to a listener of this machine so many times a second, says what no
/// member of a job would say, and waits to be thrown out; at most MOST connections at a time. Ends after SECONDS or by
/// SIGTERM and prints how many were tried and how many were closed by the other side.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 512, SAID = 48 };

static volatile sig_atomic_t over;

static void end(int number) {
  (void)number;
  over = 1;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/// A connection on which the wrong thing was said, or -1.
static int knock(const struct sockaddr_in* to) {
  char words[SAID];
  memset(words, 'x', sizeof words);
  const struct linger at_once = {1, 0};  // no port of ours stays in TIME_WAIT
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  if ((connect(fd, (const struct sockaddr*)to, sizeof *to) == 0 || errno == EINPROGRESS) &&
      send(fd, words, sizeof words, MSG_NOSIGNAL) == (ssize_t)sizeof words)
    return fd;
  close(fd);
  return -1;
}

int main(int argc, char** argv) {
  struct sockaddr_in to = {.sin_family = AF_INET};
  if (argc != 5 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
    fprintf(stderr, "usage: %s ADDRESS PORT RATE SECONDS\n", argv[0]);
    return 2;
  }
  to.sin_port = htons((unsigned short)atoi(argv[2]));
  const double rate = atof(argv[3]), seconds = atof(argv[4]), start = now();
  struct pollfd open_now[MOST];
  unsigned count = 0;
  unsigned long tried = 0, closed = 0;
  signal(SIGTERM, end);
  while (!over && now() - start < seconds) {
    while (count < MOST && (double)tried < rate * (now() - start)) {
      tried++;
      int fd = knock(&to);
      if (fd >= 0) open_now[count++] = (struct pollfd){fd, POLLIN, 0};
    }
    poll(open_now, count, 1);
    for (unsigned i = count; i-- > 0;) {
      if (open_now[i].revents == 0) continue;
      close(open_now[i].fd);
      open_now[i] = open_now[--count];
      closed++;
    }
  }
  printf("{\"tried\":%lu,\"closed\":%lu,\"seconds\":%.3f}\n", tried, closed, now() - start);
  return 0;
}
