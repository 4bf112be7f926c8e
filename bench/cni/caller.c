/*
 * Calls a CNI plugin as a runtime does and says how long each call took, from
 * the start of the process to its end. In C, because the time that the caller
 * itself takes would be in both sides of the comparison and hide the difference.
 *
 *   caller one|all PLUGIN CONFIG COMMAND CONTAINER=NETNS…
 *
 * `one`: one call after another, a line of microseconds each. `all`: all at
 * once, and one line, until the last has ended. A refusal ends it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

struct call { pid_t pid; int answer; };

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void die(const char *what) { perror(what); exit(1); }

static struct call begin(char *plugin, const char *config, char *place) {
  int in[2], out[2];
  struct call call;
  posix_spawn_file_actions_t files;
  char *path = strchr(place, '='), *words[] = {plugin, NULL};
  char *id = strndup(place, path - place);
  setenv("CNI_CONTAINERID", id, 1);
  setenv("CNI_NETNS", path + 1, 1);
  free(id);
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) die("pipe");
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in[0], 0);
  posix_spawn_file_actions_adddup2(&files, out[1], 1);
  if (posix_spawn(&call.pid, plugin, &files, NULL, words, environ)) die(plugin);
  posix_spawn_file_actions_destroy(&files);
  close(in[0]);
  close(out[1]);
  /* Both fit into a pipe: nobody waits for us to read, or to write. */
  if (write(in[1], config, strlen(config)) < 0) die("write");
  close(in[1]);
  call.answer = out[0];
  return call;
}

static void end(struct call call, const char *place) {
  static char answer[65536];
  size_t length = 0;
  ssize_t n;
  int status;
  while ((n = read(call.answer, answer + length, sizeof answer - 1 - length)) > 0) length += n;
  answer[length] = 0;
  close(call.answer);
  if (waitpid(call.pid, &status, 0) < 0) die("waitpid");
  if (status == 0) return;
  fprintf(stderr, "%s: %s\n", place, answer);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc < 6) return fprintf(stderr, "caller one|all PLUGIN CONFIG COMMAND CONTAINER=NETNS...\n"), 2;
  int count = argc - 5;
  char **places = argv + 5;
  setenv("CNI_COMMAND", argv[4], 1);
  if (!strcmp(argv[1], "one")) {
    for (int i = 0; i < count; i++) {
      double start = now_us();
      end(begin(argv[2], argv[3], places[i]), places[i]);
      printf("%.0f\n", now_us() - start);
    }
    return 0;
  }
  struct call *calls = calloc(count, sizeof *calls);
  double start = now_us();
  for (int i = 0; i < count; i++) calls[i] = begin(argv[2], argv[3], places[i]);
  for (int i = 0; i < count; i++) end(calls[i], places[i]);
  printf("%.0f\n", now_us() - start);
  return 0;
}
