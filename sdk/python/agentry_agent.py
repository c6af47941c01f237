"""Hooks, gates, event hooks and tools for Agentry, in one file without dependencies. Python 3.8 or newer.

sdk/README.md describes the protocol and the possible answers. To use the name of the Ruby library,
copy this file as cybros_agent.py.

    import agentry_agent as agentry

    @agentry.tool
    def fortune(input):
        return {"fortune": f"Great day for {input.arguments['sign']}!"}

A decorated function runs at once, so put it at the end of the file.
"""

import json
import os
import re
import sys
import traceback
from collections import namedtuple

# The maximum size of a query to the runtime, with its newline, in bytes; a query must be smaller.
CALL_BYTES_MAX = 64 * 1024

# The result of a classification.
Label = namedtuple("Label", "label confidence")


class Error(Exception):
    """The runtime refused a query, or could not be reached."""


class Input(dict):
    """The input of a program: input["x"], input.dig("x", "y") and, for a top-level field, input.x."""

    # Fields that some events lack, and the constructors of their defaults.
    _DEFAULTS = {
        "arguments": dict, "recent_messages": list, "agent_state": dict, "available_tools": list, "args": dict,
        **dict.fromkeys(
            "turn_id current_persona tool_call tool_result principal permissions session hook now prompt cwd "
            "transcript_path permission_mode tool_use_id".split(),
            lambda: None,
        ),
    }

    def __getattr__(self, name):
        value = self.get(name)
        if value is None and name in self._DEFAULTS:
            return self._DEFAULTS[name]()
        if name in self:
            return value
        raise AttributeError(f"the input has no {name!r}")

    def dig(self, *path):
        """The value at the end of the path, or None."""
        value = self
        for key in path:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    @property
    def event(self):
        """The name of the moment; for an event hook, the event itself."""
        return self.get("event") or self.get("hook_event_name")

    @property
    def conversation_id(self):
        return self.get("conversation_id") or self.get("session_id")

    @property
    def session_id(self):
        return self.get("session_id") or self.get("conversation_id")

    @property
    def tool_name(self):
        return self.get("tool_name") or self.dig("tool_call", "name")

    @property
    def tool_input(self):
        return self.get("tool_input") or self.dig("tool_call", "arguments") or {}

    @property
    def config(self):
        """The config of the event hook."""
        return self.dig("hook", "config") or {}


# --- Kinds of programs ------------------------------------------------------------------------------


def hook(function):
    """Shapes a turn: the function returns a dict, or None for no change."""
    return _run("HOOK", function, (), lambda answer, _: _object(answer, "hook"))


def tool(function):
    """Answers a tool call, with any JSON value."""
    return _run("TOOL", function, (), lambda answer, _: answer)


def gate(function):
    """Decides as a gate: see deny, ask, allow and update_input. None means no objection."""

    def finish(answer, input):
        return _gate_json(answer, input) if isinstance(answer, _Answer) else _object(answer, "gate")

    return _run("HOOK", function, ("deny", "ask", "allow", "update"), finish)


def event_hook(function):
    """Inspects an event: see fire and no. None and False mean no, True means fire."""

    def finish(answer, _):
        if isinstance(answer, _Answer):
            return answer.fields
        if answer is None or isinstance(answer, bool):
            return {"fire": bool(answer)}
        return _object(answer, "event hook")

    return _run("HOOK", function, ("fire",), finish)


# --- Answers: each ends the function at once, wherever it is called ----------------------------------


def deny(why):
    raise _Answer("deny", {"reason": str(why)})


def ask(why):
    raise _Answer("ask", {"reason": str(why)})


def allow(why=None):
    raise _Answer("allow", {"reason": why})


def update_input(arguments):
    raise _Answer("update", {"input": arguments})


def fire(prompt=None, extracted=None, agent=None, include_thread=None, disable_hook=None):
    context = _compact(prompt=prompt, extracted=extracted, include_thread=include_thread) or None
    raise _Answer("fire", _compact(fire=True, agent=agent, context=context, disable_hook=disable_hook))


def no(disable_hook=None):
    raise _Answer("fire", _compact(fire=False, disable_hook=disable_hook))


# --- During the run ------------------------------------------------------------------------------------


def progress(text):
    """Shows progress to the person: one line on stderr."""
    _say(re.sub(r"\s*[\r\n]+\s*", " ", str(text)))


def artifact(name, data):
    """Keeps a file with the result, from bytes or text. Returns its path."""
    directory = os.environ.get("AGENTRY_ARTIFACTS")
    if not directory:
        raise Error("AGENTRY_ARTIFACTS is not set: there is no place for artifacts here")
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise Error(f"not a plain file name: {name!r}")
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)
    return path


def llm(prompt, system=None, json=False, max_tokens=None):
    """Queries the model. With json=True, the answer is parsed."""
    text = _call(call="llm", prompt=prompt, system=system, json=json, max_tokens=max_tokens).get("text")
    if not json or not isinstance(text, str):
        return text
    try:
        return _parse(text)
    except ValueError:
        raise Error("the model did not answer with JSON") from None


def classify(prompt, labels=("yes", "no")):
    """Classifies a text by these labels. Returns a Label with label and confidence (0.0 to 1.0)."""
    found = _call(call="classify", prompt=prompt, labels=list(labels))
    return Label(found.get("label"), found.get("confidence"))


def search(query, channels=None, since=None, until=None, limit=None):
    """Searches earlier events: [{"eventId": …, "score": …}]. Times are datetime or milliseconds since 1970."""
    request = {"call": "search", "query": query, "channels": channels, "since": _ms(since), "until": _ms(until)}
    return _call(**request, limit=limit).get("results")


# --- Below ----------------------------------------------------------------------------------------------


class _Answer(BaseException):
    """An answer that ends the function. Not an Exception, so that `except Exception` does not swallow a deny."""

    def __init__(self, kind, fields):
        super().__init__(kind)
        self.kind = kind
        self.fields = fields


def _run(what, function, kinds, finish):
    """Reads the input, runs the function, writes its answer. A failure ends the program with exit code 1."""
    try:
        input = _read(what)
        try:
            answer = function(input)
        except _Answer as given:
            if given.kind not in kinds:
                raise Error(f"an answer of another kind of hook: {given.kind}") from given
            answer = given
        # Written only after all of it was serialized as JSON.
        _write(what, _dump(finish(answer, input)))
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        _say(f"{_where(error)}{type(error).__name__}: {first}")
        sys.exit(1)
    return function


def _where(error):
    """The innermost line of the program: in its directory, and not in this file."""
    frames = list(traceback.extract_tb(error.__traceback__))
    if error.__cause__ is not None:  # an answer that does not fit stands where it was given
        frames += traceback.extract_tb(error.__cause__.__traceback__)
    home = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), "")
    for frame in reversed(frames):
        file = os.path.realpath(frame.filename)
        if file.startswith(home) and file != os.path.realpath(__file__):
            return f"{os.path.basename(file)}:{frame.lineno}: "
    return ""


def _object(answer, what):
    if answer is None:
        return {}
    if not isinstance(answer, dict):
        raise Error(f"the {what} must answer a dict or None, not {type(answer).__name__}")
    return answer


def _path(what, way):
    return os.environ.get(f"AGENTRY_{what}_{way}") or os.environ.get(f"CYBROS_{what}_{way}")


def _read(what):
    path = _path(what, "INPUT")
    if path:
        with open(path, "rb") as file:
            data = file.read()
    else:
        data = sys.stdin.buffer.read()
    fields = _parse(data.decode("utf-8"))
    if not isinstance(fields, dict):
        raise Error("the input is not a JSON object")
    return Input(fields)


def _write(what, text):
    # Bytes, regardless of the locale: JSON is UTF-8.
    data = text.encode("utf-8")
    path = _path(what, "OUTPUT")
    if path:
        with open(path, "wb") as file:
            file.write(data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()


def _gate_json(answer, input):
    """The format of other runtimes: a permission decision about a call, or a block at any other moment."""
    event = input.get("hook_event_name") or input.get("event")
    event = event if isinstance(event, str) else "PreToolUse"
    reason = answer.fields.get("reason")
    if event != "PreToolUse" and answer.kind == "deny":
        return {"decision": "block", "reason": reason}
    if event != "PreToolUse" and answer.kind == "allow":
        return {}
    if answer.kind == "update":
        said = {"updatedInput": answer.fields["input"]}
    else:
        said = _compact(permissionDecision=answer.kind, permissionDecisionReason=reason)
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


def _call(**request):
    """Writes one line, and reads one line."""
    out, back = os.environ.get("AGENTRY_CALL"), os.environ.get("AGENTRY_ANSWER")
    if not out or not back:
        raise Error("the runtime cannot be asked: the hook must declare `model: true`")
    line = (_dump(_compact(**request)) + "\n").encode("utf-8")
    if len(line) >= CALL_BYTES_MAX:
        raise Error(f"the request has {len(line)} bytes; it must stay below {CALL_BYTES_MAX}")
    # Not open(…, "wb"): that would create a plain file if the pipe is missing.
    with os.fdopen(os.open(out, os.O_WRONLY), "wb") as pipe:
        pipe.write(line)
    with open(back, "rb") as pipe:
        told = pipe.readline()
    if not told:
        raise Error("the runtime did not answer")
    found = _parse(told.decode("utf-8"))
    if not found.get("ok"):
        raise Error(found.get("error") or "the runtime said no")
    return found


# `json` is also the name of a parameter above.
_parse = json.loads


def _dump(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _compact(**fields):
    return {key: value for key, value in fields.items() if value is not None}


def _ms(time):
    return int(time.timestamp() * 1000) if hasattr(time, "timestamp") else time


def _say(line):
    sys.stderr.flush()
    sys.stderr.buffer.write(f"{line}\n".encode("utf-8", "replace"))
    sys.stderr.buffer.flush()
