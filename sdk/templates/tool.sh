#!/bin/sh
# The tool {{name}}. Input and output are JSON, in the files that these variables name.
# Exit code 0 means that the answer is written; any other is a failure, with the reason on stderr.
set -eu
in=${AGENTRY_TOOL_INPUT:-${CYBROS_TOOL_INPUT:-/dev/stdin}}
out=${AGENTRY_TOOL_OUTPUT:-${CYBROS_TOOL_OUTPUT:-/dev/stdout}}

# The argument as written in the JSON, between its quotes. It is not decoded, so it can be copied
# into the answer. For more than this, use jq, or agentry_get of sdk/sh/agentry.sh.
text=$(tr '\n' ' ' <"$in" | LC_ALL=C sed -nE 's/.*"text"[[:space:]]*:[[:space:]]*"(([^"\\]|\\.)*)".*/\1/p')
[ -n "$text" ] || { echo "{{name}}: the argument \`text\` is missing" >&2; exit 1; }

printf '{"greeting": "Hello, %s!"}\n' "$text" >"$out"
