#include "front/filetype.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *end;
    const char *type;
    bool is_text;
} types[] = {
    {".csv", "text/csv", true},
    {".tsv", "text/tab-separated-values", true},
    {".md", "text/markdown", true},
    {".json", "application/json", true},
    {".geojson", "application/geo+json", true},
    {".ipynb", "application/x-ipynb+json", true},
    {".html", "text/html", true},
    {".htm", "text/html", true},
    {".css", "text/css", true},
    {".js", "text/javascript", true},
    {".py", "text/x-python", true},
    {".xml", "text/xml", true},
    {".svg", "text/xml", true},
    {".yaml", "application/yaml", true},
    {".yml", "application/yaml", true},
    {".toml", "application/toml", true},
    {".pdf", "application/pdf", false},
    {".zip", "application/zip", false},
    {".gz", "application/gzip", false},
    {".tar", "application/x-tar", false},
    {".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", false},
    {".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", false},
    {".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", false},
    {".parquet", "application/vnd.apache.parquet", false},
    {".sqlite", "application/vnd.sqlite3", false},
    {".db", "application/vnd.sqlite3", false},
    {".wav", "audio/wav", false},
    {".mp3", "audio/mpeg", false},
    {".mp4", "video/mp4", false},
};

static const struct {
    const char *end;
    const char *type;
} images[] = {
    {".png", "image/png"}, {".jpg", "image/jpeg"},  {".jpeg", "image/jpeg"},
    {".gif", "image/gif"}, {".webp", "image/webp"}, {".svg", "image/svg+xml"},
};

static bool ends(const char *name, size_t len, const char *end)
{
    size_t end_len = strlen(end);

    return len > end_len && strncasecmp(name + len - end_len, end, end_len) == 0;
}

const char *filetype_of(const char *name, size_t len, bool is_text)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].is_text == is_text && ends(name, len, types[i].end))
            return types[i].type;
    }
    return is_text ? "text/plain" : "application/octet-stream";
}

const char *filetype_guess(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        if (ends(name, len, images[i].end))
            return images[i].type;
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (ends(name, len, types[i].end))
            return types[i].type;
    }
    return ends(name, len, ".txt") ? "text/plain" : "application/octet-stream";
}
