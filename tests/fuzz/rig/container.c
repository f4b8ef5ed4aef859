/* An engine that does well, and a good container. */
#include <string.h>

#include "../../unit/profile_sample.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"
#include "executor/engine.h"
#include "rig.h"

bool rig_is(const struct engine_call *call, const char *method, const char *path)
{
    return strcmp(call->method, method) == 0 && strncmp(call->path, path, strlen(path)) == 0;
}

long rig_good_answer(struct engine_call *call, char **ret_body)
{
    if (call->attached)
        return 101;
    if (rig_is(call, "GET", "/version"))
        *ret_body = mem_strdup("{\"ApiVersion\":\"1.44\",\"MinAPIVersion\":\"1.24\","
                               "\"Version\":\"25.0\",\"Arch\":\"amd64\"}");
    else if (rig_is(call, "GET", "/info"))
        *ret_body = mem_strdup("{\"MemTotal\":8589934592}");
    else if (rig_is(call, "GET", "/events"))
        return 0;
    else if (rig_is(call, "GET", "/images/"))
        *ret_body = mem_strdup("{\"Id\":\"" RIG_IMAGE "\",\"Config\":{}}");
    else if (rig_is(call, "GET", "/containers/json"))
        *ret_body = mem_strdup("[]");
    if (strcmp(call->method, "GET") == 0)
        return 200;
    if (rig_is(call, "POST", "/containers/create"))
        *ret_body = mem_printf("{\"Id\":\"c%u\"}", rig.created = call->number);
    return rig_is(call, "POST", "/containers/create") ? 201 : 204;
}

void rig_say(struct engine_call *call, const char *bytes, size_t len)
{
    auto_free char *exact = mem_strndup(bytes, len);

    call->ops->data(call->arg, exact, len);
}

void rig_put_frame(struct buf *out, char type, const char *bytes, size_t len)
{
    size_t outer = len + 5;
    const unsigned char header[13] = {
        1,
        0,
        0,
        0,
        (unsigned char)(outer >> 24),
        (unsigned char)(outer >> 16),
        (unsigned char)(outer >> 8),
        (unsigned char)outer,
        (unsigned char)type,
        (unsigned char)(len >> 24),
        (unsigned char)(len >> 16),
        (unsigned char)(len >> 8),
        (unsigned char)len,
    };

    (void)buf_add(out, header, sizeof(header));
    (void)buf_add(out, bytes, len);
}

void rig_say_hello(struct engine_call *call)
{
    static const char mounts[] =
        "1 0 0:52 / / ro,relatime - overlay overlay rw\\n"
        "2 1 0:55 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\\n"
        "3 1 0:56 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\\n"
        "4 3 0:57 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620\\n"
        "5 1 0:58 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro\\n"
        "6 5 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw\\n"
        "7 3 0:54 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw\\n"
        "8 3 0:59 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k\\n"
        "9 2 0:55 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw\\n"
        "10 2 0:55 /fs /proc/fs ro,nosuid,nodev,noexec,relatime - proc proc rw\\n"
        "11 2 0:55 /irq /proc/irq ro,nosuid,nodev,noexec,relatime - proc proc rw\\n"
        "12 2 0:55 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw\\n";
    static const char zeroes[] = "0000000000000000";
    int64_t uid = call->uid;
    auto_json cJSON *env = spec_env(&profile, NULL);
    auto_json cJSON *environ = cJSON_CreateObject();
    auto_buf struct buf out;
    auto_free char *text = NULL, *environ_text = NULL;
    const cJSON *item;

    cJSON_ArrayForEach(item, env)
    {
        const char *equals = strchr(item->valuestring, '=');
        auto_free char *name = mem_strndup(item->valuestring, (size_t)(equals - item->valuestring));

        cJSON_AddStringToObject(environ, name, equals + 1);
    }
    cJSON_AddStringToObject(environ, "HOSTNAME", SPEC_HOSTNAME);
    environ_text = cJSON_PrintUnformatted(environ);
    text = mem_printf(
        "{\"python\":\"3.12.4\",\"executable\":\"/usr/local/bin/python3\",\"uid\":%d,\"gid\":%d,"
        "\"groups\":[%d],\"hostname\":\"sandbox\",\"environ\":%s,\"CapInh\":\"%s\","
        "\"CapPrm\":\"%s\",\"CapEff\":\"%s\",\"CapBnd\":\"%s\",\"CapAmb\":\"%s\","
        "\"no_new_privs\":1,\"seccomp\":2,\"interfaces\":[\"lo\"],\"refused\":{\"bpf\":1},"
        "\"devices\":[\"null\"],\"nodes\":{\"/dev/null\":\"c "
        "1:3\"},\"cgroup_roots\":[\"/\"],\"unmasked\":[],\"swap_bytes\":0,"
        "\"rlimits\":{\"RLIMIT_NOFILE\":[8192,8192],\"RLIMIT_CORE\":[0,0],"
        "\"RLIMIT_MEMLOCK\":[65536,65536],\"RLIMIT_NICE\":[0,0],\"RLIMIT_RTPRIO\":[0,0]},"
        "\"resolver\":true,\"mountinfo\":\"%s"
        "13 1 0:60 / /tmp rw,nosuid,nodev,noexec - tmpfs tmpfs "
        "rw,size=65536k,nr_inodes=16384,mode=700,uid=%d,gid=%d\\n"
        "14 1 0:61 / /workspace rw,nosuid,nodev,noexec - tmpfs tmpfs "
        "rw,size=262144k,nr_inodes=16384,mode=700,uid=%d,gid=%d\\n\","
        "\"cgroup\":{\"memory.max\":\"536870912\",\"memory.swap.max\":\"0\","
        "\"cpu.max\":\"100000 100000\",\"pids.max\":\"128\"}}",
        (int)uid, (int)uid, (int)uid, environ_text, zeroes, zeroes, zeroes, zeroes, zeroes, mounts,
        (int)uid, (int)uid, (int)uid, (int)uid);
    buf_init(&out, RIG_BUFFER);
    rig_put_frame(&out, 'H', text, strlen(text));
    rig_say(call, out.data, out.len);
}

bool rig_has_job(const struct engine_call *call)
{
    const char *end = call->down.len ? memchr(call->down.data, '\n', call->down.len) : NULL;
    auto_json cJSON *job = NULL;
    const cJSON *file;
    int64_t code, files = 0, size, input, head, tail, timeout_ms;

    if (!end)
        return false;
    job = json_parse(call->down.data, (size_t)(end - call->down.data), NULL);
    MUST(json_get_int(job, "code", &code) && json_get_int(job, "stdin", &input));
    MUST(json_get_int(job, "head", &head) && json_get_int(job, "tail", &tail));
    MUST(json_get_int(job, "timeout_ms", &timeout_ms));
    MUST(timeout_ms >= 1 && timeout_ms <= RIG_TIMEOUT_MS);
    MUST(head >= 0 && tail >= 0 && head + tail <= LIMIT_KEEP_MAX);
    MUST(code >= 0 && code <= LIMIT_CODE_MAX && input >= 0 && input <= LIMIT_STDIN_MAX);
    MUST(strcmp(json_get_text(job, "name"), "script.py") == 0);
    cJSON_ArrayForEach(file, json_get_array(job, "files"))
    {
        const char *path = json_get_text(file, "path");

        MUST(path && path_check(path, strlen(path), NULL) == 0);
        MUST(json_get_int(file, "size", &size) && size >= 0);
        files += size;
    }
    MUST(files <= LIMIT_FILES_BYTES_MAX);
    MUST(json_get_int(json_get_object(job, "outputs"), "files", &size));
    MUST(size >= 0 && size <= LIMIT_ARTIFACTS_MAX);
    MUST(call->down.len == (size_t)(end + 1 - call->down.data + code + files + input));
    return true;
}
