/* The ceilings that are not settings: the one place for numbers that several modules share.
 * Sizes in bytes, times in milliseconds. */
#pragma once

/* Front and executor: largest script and stdin that any setting may allow. */
#define LIMIT_CODE_MAX  (16 * 1024 * 1024)
#define LIMIT_STDIN_MAX (16 * 1024 * 1024)

/* Files that come with a script: how many, their bytes together, the bytes of a path (and of a part
 * of it, which is what Linux takes). */
#define LIMIT_FILES_MAX       256
#define LIMIT_FILES_BYTES_MAX (64 * 1024 * 1024)
#define LIMIT_PATH_MAX        512
#define LIMIT_PATH_PART_MAX   255

/* What a script leaves behind: how many artifacts are named in one call, the bytes of a name, and
 * the bytes that come along, of one as of all. */
#define LIMIT_ARTIFACTS_MAX       1000
#define LIMIT_ARTIFACT_NAME_MAX   1024
#define LIMIT_ARTIFACTS_BYTES_MAX (64 * 1024 * 1024)

/* The same where they go straight to a disk: no memory holds them. */
#define LIMIT_LOCAL_ARTIFACTS_MAX       10000
#define LIMIT_LOCAL_ARTIFACTS_BYTES_MAX (1024 * 1024 * 1024)

/* Longest script deadline that any setting may allow: one day. */
#define LIMIT_TIMEOUT_MS_MAX 86400000

/* Kept output per stream, head and tail together, that any setting may ask for. */
#define LIMIT_KEEP_MAX (8 * 1024 * 1024)

/* Reason, hint or error text that travels from the executor to the front. */
#define LIMIT_MESSAGE_MAX 4096

/* The last expression's repr. */
#define LIMIT_VALUE_MAX 65536

/* Name of the client that asked, for the log. */
#define LIMIT_LABEL_MAX 128

/* Image reference, Python version. */
#define LIMIT_IMAGE_MAX  512
#define LIMIT_PYTHON_MAX 64

/* The user ids that containers get, one each: above what distributions hand out to people and
 * services, below 65536 so that the default range of a rootless engine maps them. */
#define LIMIT_UID_FIRST 60600
#define LIMIT_UID_LAST  65499

/* Profiles in a configuration, and the length of a name. */
#define LIMIT_PROFILES_MAX     16
#define LIMIT_PROFILE_NAME_MAX 32

/* Names of the modules that a profile's image has beside the standard library, with blanks between
 * them. */
#define LIMIT_MODULES_MAX 32768

/* What an operator says of a profile. */
#define LIMIT_DESCRIPTION_MAX 500

/* Of one profile: modules that are imported ahead, bytes of such a name; GPUs and folders that are
 * granted, bytes of their names; a path in the container is shorter, since all of all profiles
 * travel in one argument of the front. */
#define LIMIT_PRELOAD_MAX     32
#define LIMIT_MODULE_NAME_MAX 100
#define LIMIT_GPUS_MAX        64
#define LIMIT_GPU_ID_MAX      128
#define LIMIT_FOLDERS_MAX     16
#define LIMIT_FOLDER_PATH_MAX 1024
#define LIMIT_TARGET_PATH_MAX 200
#define LIMIT_RUNTIME_MAX     64
