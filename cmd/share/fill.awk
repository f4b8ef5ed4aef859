# Fills a template with what `python-sandbox table` prints (cmd/table.c says how):
#   python-sandbox table | awk -v form=man|bash|zsh|fish|json [-v NAME=VALUE]... -f fill.awk - TEMPLATE
# A line @BLOCK@ of the template becomes the block of that name; @VERSION@, @DATE@ and @BIN@ become the
# variables of those names wherever they stand.

BEGIN {
    FS = "\t"
    quote = "'"
}

function add(block, line) {
    blocks[block] = blocks[block] line "\n"
}

# roff: a dash that can be typed, no line that starts with a command, no escapes.
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return (text ~ /^[.']/ ? "\\&" : "") text
}

function quoted(text) {
    gsub(quote, quote "\\" quote quote, text)
    return quote text quote
}

function fish_quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(quote, "\\" quote, text)
    return quote text quote
}

# The words of "error, warn, info or debug".
function words_of(range) {
    gsub(/,| or/, " ", range)
    gsub(/  +/, " ", range)
    return range
}

function range_of(range, fallback, unset) {
    return range "; default: " (unset == "-" ? fallback : unset)
}

# The manual

function man_verb(name, usage, help) {
    add("VERBS", ".TP")
    add("VERBS", ".B " roff(name) (usage == "-" ? "" : "\\fR " roff(usage)))
    add("VERBS", roff(toupper(substr(help, 1, 1)) substr(help, 2)) ".")
}

function man_flag(name, value, meaning) {
    add("VERBS", ".RS")
    add("VERBS", ".TP")
    add("VERBS", ".B " roff(name) (value == "-" ? "" : "\\fR=\\fI" roff(value)))
    add("VERBS", roff(meaning) ".")
    add("VERBS", ".RE")
}

function man_setting(name, variable, value, kind, range, fallback, unset, meaning) {
    add("SETTINGS", ".TP")
    add("SETTINGS", ".BR " roff("--" name) (kind == "switch" ? " [=" roff(value) "]" : " =\\fI" roff(value)))
    add("SETTINGS", roff(meaning) " (" roff(range_of(range, fallback, unset)) ").")
    add("SETTINGS", "Variable \\%" roff(variable) ".")
}

# The completions: what a verb takes, and what a flag takes.

function flag_word(name, value) {
    return value == "-" ? name : name "="
}

# The kind of a flag that is no setting.
function kind_of(value, words) {
    return value == "-" ? "alone" : words == "-" ? "value" : words == "FILE" ? "file" : "words"
}

# Verb is * for a setting.
function bash_flag(verb, flag, kind, range,    answer) {
    if (kind == "words")
        answer = "words=" quoted(words_of(range))
    if (kind == "switch")
        answer = "[[ $equals == no ]] || words='no yes'"
    if (kind == "file")
        answer = "files=yes"
    if (kind == "value")
        answer = "return"
    if (answer)
        add("VALUES", "    " verb "' '" flag ") " answer " ;;")
}

function zsh_action(kind, range) {
    if (kind == "file")
        return "_files"
    if (kind == "words" || kind == "switch")
        return "(" words_of(range) ")"
    return " "
}

function zsh_spec(flag, value, meaning, action) {
    gsub(/[][]/, "\\\\&", meaning)
    gsub(/:/, "\\:", value)
    return quoted(flag (value == "-" ? "" : "=") "[" meaning "]" (value == "-" ? "" : ":" value ":" action))
}

function fish_flag(condition, flag, kind, range, meaning) {
    add("FLAGS", "complete -c python-sandbox -n " fish_quoted(condition) " -l " substr(flag, 3) \
        (kind == "file" ? " -r -F" : kind == "words" ? " -x -a " fish_quoted(words_of(range)) : \
         kind == "value" ? " -x" : "") " -d " fish_quoted(meaning))
}

# What the table says

FNR == 1 {
    files++
}

files == 1 && $1 == "verb" {
    verbs[++verb_count] = $2
    usage[$2] = $3
    settings[$2] = $4
    words[$2] = $5 == "-" ? "" : $5
    help[$2] = $6
    if (form == "man")
        man_verb($2, $3, $6)
}

files == 1 && $1 == "flag" {
    own[$2] = own[$2] " " flag_word($3, $4)
    if (form == "man")
        man_flag($3, $4, $6)
    if (form == "bash")
        bash_flag($2, $3, kind_of($4, $5), $5)
    if (form == "zsh")
        zsh_own[$2] = zsh_own[$2] " " zsh_spec($3, $4, $6, zsh_action(kind_of($4, $5), $5))
    if (form == "fish")
        fish_flag("__python_sandbox_verb " $2, $3, kind_of($4, $5), $5, $6)
}

files == 1 && $1 == "group" {
    sub(/:$/, "", $2)
    if (form == "man")
        add("SETTINGS", ".SS " $2)
    if (form == "json")
        add("SETTINGS", (example ? "\n" : "") "    // " $2)
}

files == 1 && $1 == "grants" && form == "man" {
    add("GRANTS", roff($2) ".")
}

files == 1 && $1 == "setting" {
    flag = "--" $2
    all = all " " ($6 == "switch" ? flag : flag_word(flag, $5))
    if (form == "man")
        man_setting($2, $4, $5, $6, $7, $8, $9, $10)
    if (form == "bash")
        bash_flag("*", flag, $6, $7)
    if (form == "zsh")
        add("SETTINGS", "    " ($6 == "switch" ? quoted(flag "[" $10 "]") : \
            zsh_spec(flag, $5, $10, zsh_action($6, $7))))
    if (form == "fish")
        fish_flag("__python_sandbox_takes_settings", flag, $6, $7, $10)
    if (form == "json") {
        example = $8 == "-" ? "\"" $5 "\"" : $8 ~ /^[0-9.]+$/ ? $8 : "\"" $8 "\""
        add("SETTINGS", "    // " $10 " (" range_of($7, $8, $9) ")")
        add("SETTINGS", "    // \"" $3 "\": " example ",")
    }
}

# The template

function bash_verbs(    i, verb) {
    for (i = 1; i <= verb_count; i++) {
        verb = verbs[i]
        names = names " " verb
        add("VERBS", "    " verb ") settings=" settings[verb] " flags='" substr(own[verb], 2) \
            "' follows='" words[verb] "' ;;")
    }
    add("NAMES", "    local names='" substr(names, 2) "'")
    add("ALL", "    local all='" substr(all, 2) " --config= --help --usage'")
}

function zsh_verbs(    i, verb) {
    for (i = 1; i <= verb_count; i++) {
        verb = verbs[i]
        add("NAMES", "    " quoted(verb ":" help[verb]))
        add("VERBS", "    " verb ") own=(" substr(zsh_own[verb], 2) ") settings=" settings[verb] \
            " follows=(" words[verb] ") ;;")
    }
}

function fish_words(list,    options) {
    options = sub(/ ?FILE$/, "", list) ? " -F" : " -f"
    return options (list ? " -a " fish_quoted(list) : "")
}

function fish_verbs(    i, verb, list) {
    for (i = 1; i <= verb_count; i++) {
        verb = verbs[i]
        add("NAMES", "complete -c python-sandbox -n __fish_use_subcommand -f -a " verb " -d " \
            fish_quoted(help[verb]))
        if (settings[verb] == "yes")
            list = list " " verb
        if (words[verb])
            add("NAMES", "complete -c python-sandbox -n " \
                fish_quoted("__python_sandbox_verb " verb) fish_words(words[verb]))
    }
    add("TAKERS", "        contains -- $words[2]" list)
}

files == 2 && FNR == 1 {
    if (form == "bash")
        bash_verbs()
    if (form == "zsh")
        zsh_verbs()
    if (form == "fish")
        fish_verbs()
}

files == 2 && /^@[A-Z]+@$/ {
    name = substr($0, 2, length($0) - 2)
    if (!(name in blocks)) {
        print "fill.awk: no block is called " name > "/dev/stderr"
        exit 1
    }
    printf "%s", blocks[name]
    next
}

files == 2 {
    gsub(/@VERSION@/, VERSION)
    gsub(/@DATE@/, DATE)
    gsub(/@BIN@/, BIN)
    print
}
