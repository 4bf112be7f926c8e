/*
 * The CNI plugin on the host: hands the CNI_ variables and standard input to
 * the agent's socket and prints what comes back. It decides four things only:
 * VERSION needs no agent; an agent that is away is code 11 (for STATUS 50);
 * a STATUS succeeds if the agent could serve within the last minute: it is being
 * restarted, and pods that run do not need it; a DEL is left in the spool folder,
 * as the very request that could not be sent, and succeeds.
 * Static, so that it runs on any host; no library but libc.
 *
 * Protocol: POST /cni, variables as percent-encoded headers, standard input as
 * body. 200 is exit 0, 422 is exit 1; anything else is a failure of the agent's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define VERSIONS "{\"cniVersion\":\"1.1.0\",\"supportedVersions\":[\"0.3.1\",\"0.4.0\",\"1.0.0\",\"1.1.0\"]}\n"
#define ANSWER_SECONDS 120
/* As in src/agent/cni/ready-mark.ts. */
#define READY_SECONDS 60

struct text { char *at; size_t length, room; };

static void add(struct text *t, const char *bytes, size_t n) {
  if (t->length + n + 1 > t->room) {
    t->room = 2 * (t->length + n) + 4096;
    if (!(t->at = realloc(t->at, t->room))) abort();
  }
  memcpy(t->at + t->length, bytes, n);
  t->at[t->length += n] = 0;
}
static void say(struct text *t, const char *s) { add(t, s, strlen(s)); }

static const char *variable(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value && *value ? value : otherwise;
}

/* Percent-encoded, so that no value can end a header. */
static void add_header(struct text *t, const char *name, const char *value) {
  static const char plain[] = "-._~/:=;,@";
  say(t, name);
  say(t, ": ");
  for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
    char hex[4];
    int keep = (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z') || strchr(plain, *c);
    if (keep) add(t, (const char *)c, 1);
    else add(t, hex, (size_t)snprintf(hex, sizeof hex, "%%%02X", *c));
  }
  say(t, "\r\n");
}

/* Reads to the end; -1 on an error (a timeout is one). */
static int read_all(int fd, struct text *t) {
  char piece[16384];
  for (;;) {
    ssize_t n = read(fd, piece, sizeof piece);
    if (n > 0) add(t, piece, (size_t)n);
    else if (n == 0) return 0;
    else if (errno != EINTR) return -1;
  }
}

static int write_all(int fd, const char *at, size_t left) {
  while (left > 0) {
    ssize_t n = write(fd, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    at += n;
    left -= (size_t)n;
  }
  return 0;
}

/* The HTTP status with the body in `body`, or 0 with the reason in errno. */
static int ask(const char *path, const struct text *request, struct text *body) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct timeval patience = {.tv_sec = ANSWER_SECONDS};
  struct text answer = {0};
  if (strlen(path) >= sizeof address.sun_path) { errno = ENAMETOOLONG; return 0; }
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) return 0;
  if (write_all(fd, request->at, request->length) < 0 || read_all(fd, &answer) < 0) return 0;
  char *end = answer.at ? strstr(answer.at, "\r\n\r\n") : NULL;
  char *size = answer.at ? strcasestr(answer.at, "\r\ncontent-length:") : NULL;
  errno = EPIPE; /* From here on it answered, but broke off. */
  if (!end || !size || size > end || sscanf(answer.at, "HTTP/1.%*d %d", &status) != 1) return 0;
  size_t got = answer.length - (size_t)(end + 4 - answer.at);
  if (strtoul(size + 17, NULL, 10) != got) return 0;
  add(body, end + 4, got);
  return status;
}

static int sync_and_close(int fd, int failed) {
  if (!failed && fsync(fd) < 0) failed = 1;
  return close(fd) < 0 || failed;
}

/* The name becomes a file's: nothing in it may lead out of the folder. */
static int is_name(const char *s) {
  if (!*s || *s == '.') return 0;
  for (; *s; s++)
    if (*s == '/' || (unsigned char)*s <= ' ') return 0;
  return 1;
}

/* With the folders above it: a DEL may come before any agent was ever here. */
static int make_folder(const char *path) {
  char part[4096];
  if (strlen(path) >= sizeof part) return errno = ENAMETOOLONG, -1;
  strcpy(part, path);
  for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(part, 0700) < 0 && errno != EEXIST) return -1;
    *slash = '/';
  }
  return mkdir(part, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

/* 0 if the DEL will survive a power cut. */
static int remember(const char *folder, const struct text *request) {
  const char *id = variable("CNI_CONTAINERID", ""), *ifname = variable("CNI_IFNAME", "");
  char unfinished[4096], finished[4096];
  if (!is_name(id) || !is_name(ifname)) return errno = EINVAL, -1;
  int a = snprintf(finished, sizeof finished, "%s/%s@%s.del", folder, id, ifname);
  int b = snprintf(unfinished, sizeof unfinished, "%s/.%s@%s.%d", folder, id, ifname, (int)getpid());
  if (a >= (int)sizeof finished || b >= (int)sizeof unfinished) return errno = ENAMETOOLONG, -1;
  if (make_folder(folder) < 0) return -1;
  int fd = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  if (sync_and_close(fd, write_all(fd, request->at, request->length)) || rename(unfinished, finished) < 0) {
    int reason = errno;
    unlink(unfinished);
    return errno = reason, -1;
  }
  fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 || sync_and_close(fd, 0) ? -1 : 0;
}

/* Whether the agent could serve a moment ago: it keeps the time of a file beside its socket. */
static int was_ready(const char *path) {
  char mark[4096];
  struct stat found;
  if (snprintf(mark, sizeof mark, "%s.ready", path) >= (int)sizeof mark || stat(mark, &found) < 0) return 0;
  long age = (long)(time(NULL) - found.st_mtime);
  return age >= -1 && age < READY_SECONDS;
}

/* The configuration's own version, without a JSON parser: digits and dots, or the newest. */
static void version_of(const char *config, char version[16]) {
  const char *at = config ? strstr(config, "\"cniVersion\"") : NULL;
  strcpy(version, "1.1.0");
  if (!at) return;
  char found[16] = "";
  if (sscanf(at + 12, " : \"%15[0-9.]\"", found) == 1) strcpy(version, found);
}

int main(int argc, char **argv) {
  const char *command = variable("CNI_COMMAND", "");
  const char *path = variable("CADASTRE_SOCKET", "/run/cadastre/agent.sock");
  const char *spool = variable("CADASTRE_CNI_SPOOL", "/var/lib/cadastre/cni-spool");
  const char *plugin = argc > 0 && strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : "cadastre";
  struct text stdin_text = {0}, request = {0}, body = {0};
  char line[64], version[16];
  signal(SIGPIPE, SIG_IGN);
  if (!strcmp(command, "VERSION")) return write_all(1, VERSIONS, sizeof VERSIONS - 1) < 0;
  add(&stdin_text, "", 0);
  read_all(0, &stdin_text);

  say(&request, "POST /cni HTTP/1.1\r\nHost: cadastre\r\nConnection: close\r\n");
  add_header(&request, "CNI-Command", command);
  add_header(&request, "CNI-ContainerID", variable("CNI_CONTAINERID", ""));
  add_header(&request, "CNI-Netns", variable("CNI_NETNS", ""));
  add_header(&request, "CNI-Ifname", variable("CNI_IFNAME", ""));
  add_header(&request, "CNI-Args", variable("CNI_ARGS", ""));
  add_header(&request, "CNI-Path", variable("CNI_PATH", ""));
  add_header(&request, "CNI-Plugin", plugin);
  snprintf(line, sizeof line, "Content-Length: %zu\r\n\r\n", stdin_text.length);
  say(&request, line);
  add(&request, stdin_text.at, stdin_text.length);

  int status = ask(path, &request, &body);
  if (status == 200 || status == 422) return write_all(1, body.at, body.length) < 0 || status != 200;
  const char *why = strerror(errno);
  if (status) {
    snprintf(line, sizeof line, "it answered with HTTP status %d", status);
    why = line;
  }
  if (!strcmp(command, "DEL") && remember(spool, &request) == 0) {
    fprintf(stderr, "the agent at %s does not answer (%s); this DEL is kept on disk until it does\n", path, why);
    return 0;
  }
  if (!strcmp(command, "STATUS") && was_ready(path)) {
    fprintf(stderr, "the agent at %s does not answer (%s); it did within the last minute\n", path, why);
    return 0;
  }
  version_of(stdin_text.at, version);
  printf("{\"cniVersion\":\"%s\",\"code\":%d,\"msg\":\"the cadastre agent does not answer\",\"details\":\"%s\"}\n",
         version, strcmp(command, "STATUS") ? 11 : 50, why);
  return 1;
}
