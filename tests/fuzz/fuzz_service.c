/* Any bytes from the front into the real executor, beside an engine and containers that do well:
 * the first says in which portions the others come. What reaches the engine is the template. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "rig/rig.h"
#include "wire/wire.h"

#define PORTIONS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

long rig_answer(struct engine_call *call, char **ret_body)
{
    return rig_good_answer(call, ret_body);
}

/* Says hello; runs the script, unless that begins with "h": then it hangs. With "a" it leaves an
 * artifact behind, which nobody may have asked for. */
void rig_speak(struct engine_call *call)
{
    static const char end[88] = {0};
    static const char artifact[] = "\1\0\0\0\0\0\0\0\0\5"
                                   "0123456789abcdef0123456789abcdef"
                                   "a.txt";
    const char *code;
    auto_buf struct buf out;

    buf_init(&out, RIG_BUFFER);
    if (call->said == 0) {
        call->said++;
        rig_say_hello(call);
        return;
    }
    if (call->said > 1 || !rig_has_job(call))
        return;
    call->said++;
    code = (const char *)memchr(call->down.data, '\n', call->down.len) + 1;
    rig_put_frame(&out, 'S', "", 0);
    rig_put_frame(&out, 'O', "hello\n", 6);
    if (code[0] == 'a') {
        rig_put_frame(&out, 'A', artifact, sizeof(artifact) - 1);
        rig_put_frame(&out, 'a', "hello", 5);
        rig_put_frame(&out, 'R', "\0\0\0\0\0\0\0\1\0", 9);
    }
    if (code[0] != 'h')
        rig_put_frame(&out, 'X', end, sizeof(end));
    rig_say(call, out.data, out.len);
}

/* How many scripts these bytes ask for, up to where they break the rules. */
static unsigned count_runs(const char *bytes, size_t size)
{
    struct wire_message message;
    unsigned count = 0;
    size_t used;

    while (wire_decode(bytes, size, &message, &used, NULL) > 0) {
        count += message.type == WIRE_RUN;
        wire_end(&message);
        bytes += used;
        size -= used;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data + 1;
    size_t portion;

    if (size < 1)
        return 0;
    portion = data[0] > 0 && data[0] < 128 ? data[0] : data[0] > 0 ? data[0] * 32U : size;
    portion += size / PORTIONS_MAX;
    size--;
    rig_start();
    rig.runs = count_runs(bytes, size);
    (void)rig_turn(1);
    while (size > 0) {
        size_t part = size < portion ? size : portion;
        ssize_t count = send(rig.front, bytes, part, MSG_NOSIGNAL);

        MUST(count > 0 || errno == EAGAIN);
        if (count > 0) {
            bytes += count;
            size -= (size_t)count;
        }
        if (!rig_turn(part < 16 ? 1 : (int64_t)part))
            break;
    }
    rig_stop();
    return 0;
}
