/* One line per event on stderr (or the file given), "2026-01-31T12:00:00Z level text", control
 * characters escaped, at most 4 KiB. Never blocks: a full pipe drops the line. Never holds code or
 * output. */
#pragma once

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Sets the level and the descriptor (borrowed, made non-blocking where it is a pipe or a socket;
 * -1: no log). */
void log_open(int fd, enum log_level level);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
