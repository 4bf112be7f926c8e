/*
 * The CNI plugin on the host: hands the CNI_ variables and standard input to
 * the agent's socket and prints what comes back. It decides four things only:
 * VERSION needs no agent; an agent that is away is code 11 (for STATUS 50);
 * a STATUS succeeds if the agent could serve within the last minute: it is being
 * restarted, and pods that run do not need it; a DEL is left in the spool folder,
 * as the very request that could not be sent, and succeeds.
 * An agent that is stopped or stuck takes a connection and says nothing: after
 * ANSWER_SECONDS, counted from the start, it is as good as away. The request says
 * when that is, so that an agent which goes on later does no ADD that nobody waits for.
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
/* A hundred ADDs at once take two seconds; a runtime waits two minutes. docs/cni.md says the same. */
#define ANSWER_SECONDS 20
#define MOST_ANSWER_SECONDS 100
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

static long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* When it gives up, on the clock of all processes of this machine; and after how many seconds that is. */
static long long deadline_ms;
static int patience_seconds = ANSWER_SECONDS;

/* Every wait on the socket ends at the deadline; 0 when that is over. */
static int wait_until_deadline(int fd) {
  long long left = deadline_ms - now_ms();
  if (left <= 0) return errno = EAGAIN, 0;
  struct timeval patience = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return 1;
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

/* Reads to the end; -1 on an error (the deadline is one, on a socket). */
static int read_all(int fd, struct text *t, int is_socket) {
  char piece[16384];
  for (;;) {
    if (is_socket && !wait_until_deadline(fd)) return -1;
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

static int send_all(int fd, const struct text *t) {
  for (size_t done = 0; done < t->length;) {
    if (!wait_until_deadline(fd)) return -1;
    ssize_t n = write(fd, t->at + done, t->length - done);
    if (n < 0 && errno != EINTR) return -1;
    if (n > 0) done += (size_t)n;
  }
  return 0;
}

/* `it sent nothing for 20 s: ` */
static void say_seconds(struct text *t, const char *what) {
  char seconds[32];
  snprintf(seconds, sizeof seconds, " %d s: ", patience_seconds);
  say(t, what);
  say(t, seconds);
}

#define STUCK "its process is stopped or stuck (ps -o pid,stat,args shows T if stopped, D if it waits for a disk); its log may say more"

#define BROKE_OFF "it closed the connection before its answer was whole: it ended or was restarted"

/* Why there was no connection, in words. */
static void say_no_connection(struct text *why) {
  switch (errno) {
    case ENOENT: return say(why, "there is no such socket: no agent runs on this node");
    case ECONNREFUSED: return say(why, "nobody listens there: no agent runs on this node");
    case EAGAIN: say_seconds(why, "it took no connection within"); return say(why, STUCK);
    default: return say(why, strerror(errno));
  }
}

/* The HTTP status with the body in `body`, or 0 with the reason in `why`. */
static int ask(const char *path, const struct text *request, struct text *body, struct text *why) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct text answer = {0};
  if (strlen(path) >= sizeof address.sun_path) return say(why, "its path is too long for a socket"), 0;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;
  if (fd < 0 || !wait_until_deadline(fd) || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
    return say_no_connection(why), 0;
  if (send_all(fd, request) < 0 || read_all(fd, &answer, 1) < 0) {
    if (errno == EPIPE || errno == ECONNRESET) return say(why, BROKE_OFF), 0;
    if (errno != EAGAIN) return say(why, strerror(errno)), 0;
    say_seconds(why, answer.length ? "it began to answer, and did not end within" : "it took the connection and sent nothing for");
    return say(why, STUCK), 0;
  }
  char *end = answer.at ? strstr(answer.at, "\r\n\r\n") : NULL;
  char *size = answer.at ? strcasestr(answer.at, "\r\ncontent-length:") : NULL;
  say(why, BROKE_OFF);
  if (!end || !size || size > end || sscanf(answer.at, "HTTP/1.%*d %d", &status) != 1) return 0;
  size_t got = answer.length - (size_t)(end + 4 - answer.at);
  if (strtoul(size + 17, NULL, 10) != got) return 0;
  add(body, end + 4, got);
  return status;
}

/* As a JSON string, quotes included; what is no plain ASCII becomes `?`. */
static void add_json(struct text *t, const char *s) {
  say(t, "\"");
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') say(t, "\\");
    add(t, (unsigned char)*s < ' ' || (unsigned char)*s > '~' ? "?" : s, 1);
  }
  say(t, "\"");
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
  struct text stdin_text = {0}, request = {0}, body = {0}, why = {0}, failure = {0};
  char line[64], version[16];
  int asked = atoi(variable("CADASTRE_CNI_SECONDS", "0"));
  if (asked > 0 && asked <= MOST_ANSWER_SECONDS) patience_seconds = asked;
  signal(SIGPIPE, SIG_IGN);
  if (!strcmp(command, "VERSION")) return write_all(1, VERSIONS, sizeof VERSIONS - 1) < 0;
  add(&stdin_text, "", 0);
  read_all(0, &stdin_text, 0);
  deadline_ms = now_ms() + patience_seconds * 1000LL;

  say(&request, "POST /cni HTTP/1.1\r\nHost: cadastre\r\nConnection: close\r\n");
  add_header(&request, "CNI-Command", command);
  add_header(&request, "CNI-ContainerID", variable("CNI_CONTAINERID", ""));
  add_header(&request, "CNI-Netns", variable("CNI_NETNS", ""));
  add_header(&request, "CNI-Ifname", variable("CNI_IFNAME", ""));
  add_header(&request, "CNI-Args", variable("CNI_ARGS", ""));
  add_header(&request, "CNI-Path", variable("CNI_PATH", ""));
  add_header(&request, "CNI-Plugin", plugin);
  snprintf(line, sizeof line, "%lld", deadline_ms);
  add_header(&request, "CNI-Deadline", line);
  snprintf(line, sizeof line, "Content-Length: %zu\r\n\r\n", stdin_text.length);
  say(&request, line);
  add(&request, stdin_text.at, stdin_text.length);

  int status = ask(path, &request, &body, &why);
  if (status == 200 || status == 422) return write_all(1, body.at, body.length) < 0 || status != 200;
  if (status) {
    snprintf(line, sizeof line, "it answered with HTTP status %d", status);
    why.length = 0;
    say(&why, line);
  }
  if (!strcmp(command, "DEL") && remember(spool, &request) == 0) {
    fprintf(stderr, "the agent at %s does not answer: %s; this DEL is kept on disk until it does\n", path, why.at);
    return 0;
  }
  if (!strcmp(command, "STATUS") && was_ready(path)) {
    fprintf(stderr, "the agent at %s does not answer: %s; it did within the last minute\n", path, why.at);
    return 0;
  }
  version_of(stdin_text.at, version);
  body.length = 0;
  say(&body, "the cadastre agent at ");
  say(&body, path);
  say(&body, " does not answer");
  snprintf(line, sizeof line, "{\"cniVersion\":\"%s\",\"code\":%d,\"msg\":", version, strcmp(command, "STATUS") ? 11 : 50);
  say(&failure, line);
  add_json(&failure, body.at);
  say(&failure, ",\"details\":");
  add_json(&failure, why.at);
  say(&failure, "}\n");
  write_all(1, failure.at, failure.length);
  return 1;
}
