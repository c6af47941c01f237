# Hooks, gates, event hooks and tools for Agentry, for any POSIX shell. Needs awk and nothing else.
# sdk/README.md describes the protocol and the possible answers. Source it:
#
#     #!/bin/sh
#     set -eu
#     . ./agentry.sh
#     sign=$(agentry_get arguments.sign)
#     agentry_output "{\"fortune\": $(agentry_json_string "Great day for $sign!")}"
#
# agentry_deny, _ask, _allow, _update_input, _fire, _no and _fail end the program: do not call
# them in a subshell, so neither in $(…) nor behind a pipe.

# --- Input and output -------------------------------------------------------------------------------

agentry_in=${AGENTRY_HOOK_INPUT:-${CYBROS_HOOK_INPUT:-${AGENTRY_TOOL_INPUT:-${CYBROS_TOOL_INPUT:-}}}}
agentry_out=${AGENTRY_HOOK_OUTPUT:-${CYBROS_HOOK_OUTPUT:-${AGENTRY_TOOL_OUTPUT:-${CYBROS_TOOL_OUTPUT:-}}}}
# Without a file the input is on stdin, which can be read only once: now.
agentry_stdin=
[ -n "$agentry_in" ] || agentry_stdin=$(cat)

# agentry_input: prints the whole input.
agentry_input() {
  if [ -n "$agentry_in" ]; then cat -- "$agentry_in"; else printf '%s\n' "$agentry_stdin"; fi
}

# agentry_get a.b.0 [default]: prints one value of the input, a text without its quotes. An object or a list
# is printed unchanged. Without a value (or with null) it prints the default; without that, it fails.
agentry_get() {
  if agentry_found=$(agentry_input | agentry_json_get "$1"); then
    printf '%s\n' "$agentry_found"
  elif [ $# -gt 1 ]; then
    printf '%s\n' "$2"
  else
    return 1
  fi
}

# agentry_output '<json>': writes the answer. The last one counts.
agentry_output() {
  if [ -n "$agentry_out" ]; then printf '%s\n' "$1" >"$agentry_out"; else printf '%s\n' "$1"; fi
}

# agentry_json_string text: prints it as a JSON string, with quotes.
agentry_json_string() {
  printf '%s\n' "$1" | LC_ALL=C awk '
    BEGIN {
      for (i = 1; i < 32; i++) code[sprintf("%c", i)] = sprintf("\\u%04x", i)
      code["\t"] = "\\t"; code["\r"] = "\\r"; code["\""] = "\\\""; code["\\"] = "\\\\"
    }
    {
      if (NR > 1) printf "\\n"; else printf "\""
      # Most lines need no change.
      if ($0 !~ /[\001-\037"\\]/) { printf "%s", $0; next }
      for (i = 1; i <= length($0); i++) { c = substr($0, i, 1); printf "%s", (c in code) ? code[c] : c }
    }
    END { printf "\"" }'
}

# agentry_fail why: ends the program as a failure.
agentry_fail() {
  agentry_progress "$1"
  exit 1
}

# --- Gates -------------------------------------------------------------------------------------------

# agentry_deny why: denies. The reason goes to stderr, as in other runtimes.
agentry_deny() {
  printf '%s\n' "$1" >&2
  exit 2
}

# agentry_ask why: requires the approval of a person.
agentry_ask() { agentry_decide "\"permissionDecision\": \"ask\", \"permissionDecisionReason\": $(agentry_json_string "$1")"; }

agentry_allow() { agentry_decide '"permissionDecision": "allow"'; }

# agentry_update_input '{…}': the call gets these arguments.
agentry_update_input() { agentry_decide "\"updatedInput\": $1"; }

agentry_decide() {
  agentry_event=$(agentry_get hook_event_name "$(agentry_get event PreToolUse)")
  agentry_output "{\"hookSpecificOutput\": {\"hookEventName\": $(agentry_json_string "$agentry_event"), $1}}"
  exit 0
}

# --- Event hooks -------------------------------------------------------------------------------------

# agentry_fire [prompt [extracted-json [agent]]]: fires. An empty argument counts as absent.
agentry_fire() {
  agentry_context=
  [ -z "${1:-}" ] || agentry_context="\"prompt\": $(agentry_json_string "$1")"
  [ -z "${2:-}" ] || agentry_context="${agentry_context:+$agentry_context, }\"extracted\": $2"
  agentry_said='"fire": true'
  [ -z "${3:-}" ] || agentry_said="$agentry_said, \"agent\": $(agentry_json_string "$3")"
  [ -z "$agentry_context" ] || agentry_said="$agentry_said, \"context\": {$agentry_context}"
  agentry_output "{$agentry_said}"
  exit 0
}

# agentry_no: does not fire. `agentry_no disable` also disables the hook.
agentry_no() {
  if [ "${1:-}" = disable ]; then
    agentry_output '{"fire": false, "disable_hook": true}'
  else
    agentry_output '{"fire": false}'
  fi
  exit 0
}

# --- During the run -----------------------------------------------------------------------------------

# agentry_progress text: shows progress to the person, in one line on stderr.
agentry_progress() {
  printf '%s\n' "$(printf '%s' "$1" | tr '\r\n' '  ')" >&2
}

# agentry_artifact name: stores standard input as a file with the result.
agentry_artifact() {
  [ -n "${AGENTRY_ARTIFACTS:-}" ] || agentry_fail 'AGENTRY_ARTIFACTS is not set: there is no place for artifacts here'
  case $1 in '' | . | .. | */*) agentry_fail "not a plain file name: $1" ;; esac
  cat >"$AGENTRY_ARTIFACTS/$1"
}

# The calls to the runtime set variables instead of printing, so that a failure ends the program.

# agentry_classify prompt label…: sets AGENTRY_LABEL and AGENTRY_CONFIDENCE (0.0 to 1.0).
agentry_classify() {
  agentry_labels=
  agentry_prompt=$1
  shift
  for agentry_label; do agentry_labels="${agentry_labels:+$agentry_labels,}$(agentry_json_string "$agentry_label")"; done
  agentry_call "{\"call\":\"classify\",\"prompt\":$(agentry_json_string "$agentry_prompt"),\"labels\":[$agentry_labels]}"
  AGENTRY_LABEL=$(printf '%s\n' "$agentry_told" | agentry_json_get label) || AGENTRY_LABEL=
  AGENTRY_CONFIDENCE=$(printf '%s\n' "$agentry_told" | agentry_json_get confidence) || AGENTRY_CONFIDENCE=
}

# agentry_llm prompt [system [max-tokens [json]]]: sets AGENTRY_TEXT. A fourth word `json` asks for JSON.
agentry_llm() {
  agentry_said="\"call\":\"llm\",\"prompt\":$(agentry_json_string "$1")"
  [ -z "${2:-}" ] || agentry_said="$agentry_said,\"system\":$(agentry_json_string "$2")"
  [ -z "${3:-}" ] || agentry_said="$agentry_said,\"max_tokens\":$3"
  if [ "${4:-}" = json ]; then agentry_said="$agentry_said,\"json\":true"; else agentry_said="$agentry_said,\"json\":false"; fi
  agentry_call "{$agentry_said}"
  AGENTRY_TEXT=$(printf '%s\n' "$agentry_told" | agentry_json_get text) || AGENTRY_TEXT=
}

# agentry_search query [limit [since-ms [until-ms [channel…]]]]: sets AGENTRY_RESULTS, a JSON list.
agentry_search() {
  agentry_said="\"call\":\"search\",\"query\":$(agentry_json_string "$1")"
  [ -z "${2:-}" ] || agentry_said="$agentry_said,\"limit\":$2"
  [ -z "${3:-}" ] || agentry_said="$agentry_said,\"since\":$3"
  [ -z "${4:-}" ] || agentry_said="$agentry_said,\"until\":$4"
  if [ $# -gt 4 ]; then
    shift 4
    agentry_labels=
    for agentry_label; do agentry_labels="${agentry_labels:+$agentry_labels,}$(agentry_json_string "$agentry_label")"; done
    agentry_said="$agentry_said,\"channels\":[$agentry_labels]"
  fi
  agentry_call "{$agentry_said}"
  AGENTRY_RESULTS=$(printf '%s\n' "$agentry_told" | agentry_json_get results) || AGENTRY_RESULTS='[]'
}

# --- Below -------------------------------------------------------------------------------------------

# Writes one line, and reads one line into agentry_told.
agentry_call() {
  [ -n "${AGENTRY_CALL:-}" ] && [ -n "${AGENTRY_ANSWER:-}" ] ||
    agentry_fail 'the runtime cannot be asked: the hook must declare `model: true`'
  # `>` would create a plain file if the pipe is missing.
  [ -p "$AGENTRY_CALL" ] || agentry_fail "AGENTRY_CALL is not a pipe: $AGENTRY_CALL"
  agentry_bytes=$(printf '%s\n' "$1" | wc -c | tr -d ' ')
  [ "$agentry_bytes" -lt 65536 ] || agentry_fail "the request has $agentry_bytes bytes; it must stay below 65536"
  printf '%s\n' "$1" >"$AGENTRY_CALL"
  agentry_told=
  IFS= read -r agentry_told <"$AGENTRY_ANSWER" || [ -n "$agentry_told" ] || agentry_fail 'the runtime did not answer'
  [ "$(printf '%s\n' "$agentry_told" | agentry_json_get ok)" = true ] ||
    agentry_fail "$(printf '%s\n' "$agentry_told" | agentry_json_get error || printf 'the runtime said no')"
}

# agentry_json_get a.b.0: the value in the JSON on stdin. Fails if there is none, and on null.
# It reads the text once, byte by byte, and knows the path of each value.
agentry_json_get() {
  AGENTRY_PATH=$1 LC_ALL=C awk '
    { text = text $0 "\n" }
    END {
      want = ENVIRON["AGENTRY_PATH"]
      at = 1; found = 0
      value("")
      if (!found) exit 1
      if (substr(hit, 1, 1) == "\"") print plain(hit)
      else if (hit == "null") exit 1
      else print hit
    }
    function skip() { while (index(" \t\r\n", substr(text, at, 1)) && at <= length(text)) at++ }
    # Skips one value, and keeps it if it is the requested one.
    function value(path,    start, c, key, n) {
      skip(); start = at; c = substr(text, at, 1)
      if (c == "\"") string()
      else if (c == "{" || c == "[") {
        at++; skip(); n = 0
        while (at <= length(text) && (substr(text, at, 1) != "}") && (substr(text, at, 1) != "]")) {
          if (c == "{") { skip(); key = plain(string()); skip(); at++ } else key = n++
          value(path == "" ? key "" : path "." key)
          skip(); if (substr(text, at, 1) == ",") at++
          skip()
        }
        at++
      }
      else {
        while (at <= length(text) && !index(",]} \t\r\n", substr(text, at, 1))) at++
        # Not JSON: continue, or this would never end.
        if (at == start) at++
      }
      if (path == want && path != "") { found = 1; hit = substr(text, start, at - start) }
    }
    # Skips a string; returns it as written.
    function string(    start, c) {
      start = at++
      while (at <= length(text)) {
        c = substr(text, at++, 1)
        if (c == "\\") at++
        else if (c == "\"") break
      }
      return substr(text, start, at - start)
    }
    # Returns the decoded text of a string.
    function plain(s,    out, i, c, n, low) {
      s = substr(s, 2, length(s) - 2)
      if (!index(s, "\\")) return s
      out = ""
      for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        if (c != "\\") { out = out c; continue }
        c = substr(s, ++i, 1)
        if (c == "n") out = out "\n"; else if (c == "t") out = out "\t"; else if (c == "r") out = out "\r"
        else if (c == "b") out = out "\b"; else if (c == "f") out = out "\f"
        else if (c == "u") {
          n = hex(substr(s, i + 1, 4)); i += 4
          if (n >= 55296 && n < 56320 && substr(s, i + 1, 2) == "\\u") {
            low = hex(substr(s, i + 3, 4)); i += 6
            n = 65536 + (n - 55296) * 1024 + (low - 56320)
          }
          out = out utf8(n)
        }
        else out = out c
      }
      return out
    }
    function hex(s,    i, n) {
      n = 0
      for (i = 1; i <= 4; i++) n = n * 16 + index("0123456789abcdef", tolower(substr(s, i, 1))) - 1
      return n
    }
    # A shell cannot hold a zero byte; it is removed.
    function utf8(n) {
      if (n <= 0) return ""
      if (n < 128) return sprintf("%c", n)
      if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
      if (n < 65536) return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
      return sprintf("%c%c%c%c", 240 + int(n / 262144), 128 + int(n / 4096) % 64, 128 + int(n / 64) % 64, 128 + n % 64)
    }'
}
