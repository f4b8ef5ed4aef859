#include "wire/wire_run.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "wire/bytes.h"
#include "wire/wire.h"

static bool numbers_fit(const struct wire_run *run)
{
    return run->profile < LIMIT_PROFILES_MAX && run->timeout_ms >= 1 &&
           run->timeout_ms <= LIMIT_TIMEOUT_MS_MAX &&
           (uint64_t)run->keep_head + run->keep_tail <= LIMIT_KEEP_MAX &&
           run->artifacts.count <= LIMIT_ARTIFACTS_MAX &&
           run->artifacts.one <= LIMIT_ARTIFACTS_BYTES_MAX &&
           run->artifacts.all <= LIMIT_ARTIFACTS_BYTES_MAX &&
           run->artifacts.figures <= LIMIT_ARTIFACTS_BYTES_MAX;
}

static void decode_files(struct bytes_reader *reader, struct wire_run *run)
{
    struct file files[LIMIT_FILES_MAX];
    size_t count = bytes_u32(reader), total = 0;

    if (count > LIMIT_FILES_MAX)
        reader->bad = true;
    for (size_t i = 0; i < count && !reader->bad; i++) {
        files[i].path = bytes_string(reader, LIMIT_PATH_MAX, &files[i].path_len);
        files[i].bytes = bytes_string(reader, LIMIT_FILES_BYTES_MAX, &files[i].len);
        total += files[i].len;
        if (reader->bad || total > LIMIT_FILES_BYTES_MAX ||
            file_check(files, i, FILE_SCRIPT_NAME, NULL) < 0)
            reader->bad = true;
    }
    if (reader->bad || reader->left > 0 || count == 0)
        return;
    run->files = mem_alloc(count * sizeof(*files));
    memcpy(run->files, files, count * sizeof(*files));
    run->file_count = count;
}

void wire_run_decode(struct bytes_reader *reader, struct wire_run *run)
{
    run->profile = bytes_u32(reader);
    run->timeout_ms = bytes_u32(reader);
    run->keep_head = bytes_u32(reader);
    run->keep_tail = bytes_u32(reader);
    run->artifacts.count = bytes_u32(reader);
    run->artifacts.one = bytes_u32(reader);
    run->artifacts.all = bytes_u32(reader);
    run->artifacts.figures = bytes_u32(reader);
    run->label = bytes_string(reader, LIMIT_LABEL_MAX, &run->label_len);
    run->code = bytes_string(reader, LIMIT_CODE_MAX, &run->code_len);
    run->stdin_bytes = bytes_string(reader, LIMIT_STDIN_MAX, &run->stdin_len);
    if (!numbers_fit(run))
        reader->bad = true;
    decode_files(reader, run);
}

size_t wire_run_size(const struct wire_run *run)
{
    size_t size = WIRE_RUN_MIN + run->label_len + run->code_len + run->stdin_len, total = 0;

    assert(numbers_fit(run));
    assert(run->label_len <= LIMIT_LABEL_MAX);
    assert(run->code_len <= LIMIT_CODE_MAX);
    assert(run->stdin_len <= LIMIT_STDIN_MAX);
    assert(run->file_count <= LIMIT_FILES_MAX);
    for (size_t i = 0; i < run->file_count; i++) {
        assert(file_check(run->files, i, FILE_SCRIPT_NAME, NULL) == 0);
        size += WIRE_RUN_FILE_FIXED + run->files[i].path_len + run->files[i].len;
        total += run->files[i].len;
    }
    assert(total <= LIMIT_FILES_BYTES_MAX);
    return size;
}

void wire_run_put(struct buf *out, const struct wire_run *run)
{
    bytes_put_u32(out, run->profile);
    bytes_put_u32(out, run->timeout_ms);
    bytes_put_u32(out, run->keep_head);
    bytes_put_u32(out, run->keep_tail);
    bytes_put_u32(out, run->artifacts.count);
    bytes_put_u32(out, run->artifacts.one);
    bytes_put_u32(out, run->artifacts.all);
    bytes_put_u32(out, run->artifacts.figures);
    bytes_put_string(out, run->label, run->label_len);
    bytes_put_string(out, run->code, run->code_len);
    bytes_put_string(out, run->stdin_bytes, run->stdin_len);
    bytes_put_u32(out, (uint32_t)run->file_count);
    for (size_t i = 0; i < run->file_count; i++) {
        bytes_put_string(out, run->files[i].path, run->files[i].path_len);
        bytes_put_string(out, run->files[i].bytes, run->files[i].len);
    }
}

size_t wire_run_file_bytes(const struct wire_run *run)
{
    size_t bytes = 0;

    for (size_t i = 0; i < run->file_count; i++)
        bytes += run->files[i].len;
    return bytes;
}
