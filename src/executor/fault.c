#include "executor/fault.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

/* Leaves room for what an error puts before it. */
#define LINE_BYTES 1000

/* What is looked at: repaired, at least as long as the line. */
#define TAIL_BYTES (2 * LINE_BYTES)

/* Causes whose words say little, and the mend. */
struct known {
    const char *words;
    const char *mend;
};

static const struct known refusals[] = {
    {"executable file not found", "it needs a python3 (3.8 or later) in its PATH"},
    {"file name too long", "podman takes seccomp profiles as files of its host only: use a Docker "
                           "Engine"},
    {"could not select device driver",
     "the engine knows no driver for GPUs: install the NVIDIA Container Toolkit on its host, and "
     "restart it"},
    {"nvidia-container-cli", "check the driver with `nvidia-smi` on the engine's host"},
    {"unresolvable CDI devices",
     "`nvidia-ctk cdi list` on the engine's host shows the names that there are"},
    {"failed to mount local volume", "check the folder that the profile grants as data: it must "
                                     "be there on the engine's host"},
    {"Range of CPUs is from", "give a script fewer: --cpus, or cpus of the profile"},
    {"invalid reference format", "an image is named [HOST[:PORT]/]name[:TAG], in lower case"},
    {"Unknown runtime specified", "`docker info` lists the runtimes that the engine has"},
    {"unknown or invalid runtime", "`docker info` lists the runtimes that the engine has"},
    {"exec format error", "the image is for another architecture than the engine's host"},
    {NULL, NULL},
};

/* Of a connection with TLS that just ended: not every server tells why, nor is it always heard. */
#define TOLD_TO_GO                                                                                 \
    "where it stays so, see whether its CA (--tlscacert) has signed cert.pem, and what it logs"

/* Of every other silence. */
#define NO_ENGINE "where it stays so, see whether a Docker Engine listens there, and what it logs"

/* As OpenSSL and libcurl put it, in the order in which they are looked for. */
static const struct known silences[] = {
    {"certificate has expired", "renew the engine's certificate, or the CA's"},
    {"certificate is not yet valid", "set the clock of this machine, or the engine's"},
    {"issuer certificate", "ca.pem is not of the CA that signed the engine's certificate"},
    {"self-signed certificate", "ca.pem is not of the CA that signed the engine's certificate"},
    {"self signed certificate", "ca.pem is not of the CA that signed the engine's certificate"},
    {"certificate signature failure", "ca.pem only looks like the CA of the engine's certificate"},
    {"subject name", "use a name that is in the engine's certificate, or have one made for this"},
    {"unable to set private key file", "key.pem is no key, or not that of cert.pem"},
    {"alert certificate required", "the engine wants a client's certificate: cert.pem, key.pem"},
    {"alert certificate expired", "the engine finds that cert.pem has expired"},
    {"alert bad certificate", "the engine's CA (--tlscacert) has to have signed cert.pem"},
    {"alert unknown ca", "the engine's CA (--tlscacert) has to have signed cert.pem"},
    {"alert unsupported certificate", "cert.pem has to be for clients (extendedKeyUsage)"},
    {"wrong version number", "no TLS is spoken there: start the engine with --tlsverify"},
    {"packet length too long", "no TLS is spoken there: start the engine with --tlsverify"},
    {"protocol version", "the engine has to speak TLS 1.2 or later"},
    {"unsupported protocol", "the engine has to speak TLS 1.2 or later"},
    {"Connection refused", "no engine listens there, or a firewall is in the way"},
    {NULL, NULL},
};

static const char *find_mend(const struct known *known, const char *line)
{
    for (; known->words; known++) {
        if (strstr(line, known->words))
            return known->mend;
    }
    return NULL;
}

static bool is_blank(char c)
{
    return (unsigned char)c <= ' ';
}

int fault_text(long status, const char *body, size_t len, struct error *err)
{
    auto_json cJSON *json = json_parse(body, len, NULL);
    const char *message = json_get_text(json, "message");
    auto_buf struct buf line = {0};
    const char *mend;
    size_t start;

    if (message)
        len = strlen(message);
    else
        message = body;
    while (len && is_blank(message[len - 1]))
        len--;
    if (len == 0)
        return error_set(err, "the engine answered %ld: (no message)", status);
    if (len > TAIL_BYTES) {
        message += len - TAIL_BYTES;
        len = TAIL_BYTES;
    }
    buf_init(&line, TAIL_BYTES * strlen(TEXT_REPLACEMENT));
    (void)text_repair(&line, message, len);
    for (size_t i = 0; i < line.len; i++) {
        if (is_blank(line.data[i]))
            line.data[i] = ' ';
    }
    start = line.len > LINE_BYTES ? line.len - LINE_BYTES : 0;
    start += text_whole_start(line.data + start, line.len - start);
    mend = find_mend(refusals, line.data + start);
    return error_set(err, "the engine answered %ld: %s%s%s%s", status, start ? "..." : "",
                     line.data + start, mend ? "; " : "", mend ? mend : "");
}

int fault_silence(const char *name, const char *text, bool cut_off, struct error *err)
{
    const char *mend = find_mend(silences, text);

    if (!mend)
        mend = cut_off ? TOLD_TO_GO : NO_ENGINE;
    return error_set(err, "the engine at %s did not answer: %s; %s", name, text, mend);
}
