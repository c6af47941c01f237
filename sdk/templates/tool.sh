#!/bin/sh
# The tool {{name}}. Input and output are JSON, in the files that these variables name.
# Exit 0 means that the answer is there; anything else is a failure, and stderr says why.
set -eu
in=${AGENTRY_TOOL_INPUT:-${CYBROS_TOOL_INPUT:-/dev/stdin}}
out=${AGENTRY_TOOL_OUTPUT:-${CYBROS_TOOL_OUTPUT:-/dev/stdout}}

# The argument as it is written in the JSON, between its quotes. It is not decoded, so it can go
# into the answer as it is. For more than this, use jq, or agentry_get of sdk/sh/agentry.sh.
text=$(tr '\n' ' ' <"$in" | LC_ALL=C sed -nE 's/.*"text"[[:space:]]*:[[:space:]]*"(([^"\\]|\\.)*)".*/\1/p')
[ -n "$text" ] || { echo "{{name}}: the argument \`text\` is missing" >&2; exit 1; }

printf '{"greeting": "Hello, %s!"}\n' "$text" >"$out"
