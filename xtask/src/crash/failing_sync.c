/* Counts the syncs of files below a directory, and lets one of them fail.
 *
 * It is put before the C library, so that a program calls it in place of the real thing. Each call
 * is a line in a log: its number, and the file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int calls = 0;

static int fails(int fd) {
    const char *below = getenv("CRASH_BELOW");
    const char *at = getenv("CRASH_AT");
    const char *log = getenv("CRASH_LOG");
    char link[64], path[PATH_MAX], line[PATH_MAX + 32];
    if (!below || !at || !log) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, below, strlen(below)) != 0) return 0;
    int call = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int bytes = snprintf(line, sizeof line, "%d %s\n", call, path);
    if (out >= 0) {
        if (write(out, line, bytes) != bytes) abort();
        close(out);
    }
    return call == atoi(at);
}

int fsync(int fd) {
    if (fails(fd)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    if (fails(fd)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_fdatasync, fd);
}
