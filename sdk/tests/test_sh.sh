#!/bin/sh
# Tests of sdk/sh/agentry.sh: each program runs in a shell of its own, with files in a directory of its own.
set -u
lib=$(cd "$(dirname "$0")/../sh" && pwd)/agentry.sh
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room" || exit 1
failed=0

# run input program: runs it as a hook; leaves code, out and err.
run() {
  printf '%s' "$1" >in.json
  rm -f out.json
  printf '%s\n' '#!/bin/sh' 'set -eu' ". '$lib'" "$2" >program
  AGENTRY_HOOK_INPUT=in.json AGENTRY_HOOK_OUTPUT=out.json sh program >stdout 2>err
  code=$?
  out=$(cat out.json 2>/dev/null)
  err=$(cat err)
}

# same name expected found
same() {
  [ "$2" = "$3" ] && { echo "ok $1"; return; }
  printf 'FAILED %s\n  expected: %s\n  found:    %s\n' "$1" "$2" "$3" >&2
  failed=1
}

run '{"event": "before_inference", "agent_state": {"n": 5}}' \
  'agentry_output "{\"system_prompt_append\": $(agentry_json_string "$(agentry_get event) $(agentry_get agent_state.n)")}"'
same 'a hook answers' '0 {"system_prompt_append": "before_inference 5"}' "$code $out"

printf '%s' '{"arguments": {"sign": "lion"}}' >in.json
printf '%s\n' ". '$lib'" 'agentry_output "{\"sign\": $(agentry_json_string "$(agentry_get arguments.sign)")}"' >program
CYBROS_TOOL_INPUT=in.json CYBROS_TOOL_OUTPUT=tool.json sh program
same 'a tool answers, under the CYBROS_ names' '{"sign": "lion"}' "$(cat tool.json)"

same 'without files, stdin and stdout are used' '{"sign": "bull"}' \
  "$(printf '%s' '{"arguments": {"sign": "bull"}}' | sh program)"

run '{"hook_event_name": "PreToolUse", "tool_name": "bash"}' 'agentry_deny "not today"; echo on'
same 'a gate denies with code 2' '2  not today' "$code $out $err"
run '{"hook_event_name": "PreToolUse"}' 'agentry_ask "a \"risk\""; echo on'
same 'a gate asks' \
  '0 {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "a \"risk\""}}' "$code $out"
run '{"hook_event_name": "PreToolUse"}' "agentry_update_input '{\"command\": \"ls\"}'"
same 'a gate changes the input' \
  '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls"}}}' "$out"
run '{"hook_event_name": "PreToolUse"}' 'agentry_allow'
same 'a gate allows' '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}' "$out"

run '{"event": {"content": "x"}, "hook": {"config": {"k": 7}}}' \
  'agentry_fire "look: $(agentry_get event.content)" "{\"k\": $(agentry_get hook.config.k)}" helper'
same 'an event hook fires' \
  '{"fire": true, "agent": "helper", "context": {"prompt": "look: x", "extracted": {"k": 7}}}' "$out"
run '{}' 'agentry_no disable'
same 'an event hook says no' '{"fire": false, "disable_hook": true}' "$out"

run '{}' 'agentry_get nothing; agentry_output "{}"'
same 'a failure ends with 1 and without output' '1 ' "$code $out"
run '{}' 'agentry_get nothing plenty >&2'
same 'what is missing has a default' 'plenty' "$err"

run '{"text": "h\u00e9 \ud83d\ude00 \"q\" \\ \n end", "list": [1, {"k": "ö"}], "null": null, "t": true}' \
  'agentry_output "$(agentry_json_string "$(agentry_get text)")"; agentry_get list.1.k >&2; agentry_get list >&2; agentry_get t >&2; agentry_get null none >&2'
same 'other scripts and escapes survive' '"hé 😀 \"q\" \\ \n end"' "$out"
same 'lists, words and null are read' "$(printf 'ö\n[1, {"k": "ö"}]\ntrue\nnone')" "$err"
run '{}' 'agentry_output "$(agentry_json_string "$(printf "tab\tbell\007 line\n\nx")")"'
same 'control characters are escaped' '"tab\tbell\u0007 line\n\nx"' "$out"
run '{"a": "unfinished' 'agentry_get b none >&2'
same 'broken JSON comes to an end' 'none' "$err"

run '{}' 'agentry_progress "half
way"'
same 'progress is one line' 'half way' "$err"

mkdir kept
AGENTRY_ARTIFACTS=$room/kept run '{}' 'printf "\001\377" | agentry_artifact a.bin'
same 'an artifact is kept' ' 001 377' "$(od -An -b kept/a.bin)"
AGENTRY_ARTIFACTS=$room/kept run '{}' 'agentry_artifact ../a </dev/null'
same 'an artifact stays in its place' '1 not a plain file name: ../a' "$code $err"

mkfifo call answer
# runtime answer: answers one request, and keeps it.
runtime() { { IFS= read -r line <call; printf '%s\n' "$line" >asked; printf '%s\n' "$1" >answer; } & }
export AGENTRY_CALL=$room/call AGENTRY_ANSWER=$room/answer
runtime '{"ok": true, "label": "größer", "confidence": 0.9}'
run '{}' 'agentry_classify "Wie groß?" größer kleiner; agentry_fire "$AGENTRY_LABEL $AGENTRY_CONFIDENCE"'
wait
same 'a classification asks' '{"call":"classify","prompt":"Wie groß?","labels":["größer","kleiner"]}' "$(cat asked)"
same 'a classification answers' '{"fire": true, "context": {"prompt": "größer 0.9"}}' "$out"
runtime '{"ok": true, "text": "four"}'
run '{}' 'agentry_llm "2+2?" brief 9; agentry_fire "$AGENTRY_TEXT"'
wait
same 'the model is asked' '{"call":"llm","prompt":"2+2?","system":"brief","max_tokens":9,"json":false}' "$(cat asked)"
same 'the model answers' '{"fire": true, "context": {"prompt": "four"}}' "$out"
runtime '{"ok": true, "results": [{"eventId": "e1", "score": 0.5}]}'
run '{}' 'agentry_search rent 3 "" 9 mail chat; agentry_fire "" "$AGENTRY_RESULTS"'
wait
same 'a search asks' '{"call":"search","query":"rent","limit":3,"until":9,"channels":["mail","chat"]}' "$(cat asked)"
same 'a search answers' '{"fire": true, "context": {"extracted": [{"eventId": "e1", "score": 0.5}]}}' "$out"
runtime '{"ok": false, "error": "the budget is spent"}'
run '{}' 'agentry_classify x a b; agentry_fire x'
wait
same 'a refusal ends with 1' '1  the budget is spent' "$code $out $err"
run '{}' 'agentry_llm "$(awk "BEGIN { for (i = 0; i < 66000; i++) printf \"x\" }")"'
same 'a request has a limit' '1 the request has 66040 bytes; it must stay below 65536' "$code $err"
unset AGENTRY_CALL AGENTRY_ANSWER
run '{}' 'agentry_classify x a b'
same 'without pipes it says what to declare' \
  '1 the runtime cannot be asked: the hook must declare `model: true`' "$code $err"

exit $failed
