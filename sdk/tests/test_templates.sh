#!/bin/sh
# Tests of sdk/templates: each greets, with the variables of both families, over pipes, and with other scripts.
set -u
templates=$(cd "$(dirname "$0")/../templates" && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room" || exit 1
failed=0

# same name expected found, compared as JSON
same() {
  python3 -c 'import json, sys; sys.exit(json.loads(sys.argv[1]) != json.loads(sys.argv[2]))' "$2" "$3" 2>/dev/null &&
    { echo "ok $1"; return; }
  printf 'FAILED %s\n  expected: %s\n  found:    %s\n' "$1" "$2" "$3" >&2
  failed=1
}

input='{
  "tool": "greet",
  "arguments": {"text": "Zoë \"Z\" \\ 世界\n100%"}
}'
expected='{"greeting": "Hello, Zoë \"Z\" \\ 世界\n100%!"}'
printf '%s' "$input" >in.json
printf '{"arguments": {}}' >bare.json

for ending in sh py rb js; do
  sed 's/{{name}}/greet/g' "$templates/tool.$ending" >greet.$ending
  chmod 755 greet.$ending
  rm -f out.json
  AGENTRY_TOOL_INPUT=in.json AGENTRY_TOOL_OUTPUT=out.json ./greet.$ending
  same "tool.$ending greets" "$expected" "$(cat out.json)"
  rm -f out.json
  CYBROS_TOOL_INPUT=in.json CYBROS_TOOL_OUTPUT=out.json LC_ALL=C ./greet.$ending
  same "tool.$ending greets under the CYBROS_ names, in the C locale" "$expected" "$(cat out.json)"
  same "tool.$ending greets over pipes" "$expected" "$(printf '%s' "$input" | ./greet.$ending | cat)"
  rm -f out.json
  AGENTRY_TOOL_INPUT=bare.json AGENTRY_TOOL_OUTPUT=out.json ./greet.$ending 2>err
  same "tool.$ending fails without its argument" 1 $?
  [ -s err ] && [ ! -s out.json ] || { echo "FAILED tool.$ending says why and writes nothing" >&2; failed=1; }
done

grep -q '^name: {{name}}$' "$templates/tool.yml" || { echo "FAILED tool.yml has its name" >&2; failed=1; }
exit $failed
