#!/usr/bin/env python3
"""The tool {{name}}. Input and output are JSON, in the files that these variables name.

Exit code 0 means that the answer is written; any other is a failure, with the reason on stderr.
"""
import json
import os
import sys


def answer(arguments):
    """The answer for the model: any JSON value."""
    return {"greeting": f"Hello, {arguments['text']}!"}


source = os.environ.get("AGENTRY_TOOL_INPUT") or os.environ.get("CYBROS_TOOL_INPUT") or "/dev/stdin"
target = os.environ.get("AGENTRY_TOOL_OUTPUT") or os.environ.get("CYBROS_TOOL_OUTPUT") or "/dev/stdout"

with open(source, encoding="utf-8") as file:
    call = json.load(file)
try:
    result = answer(call["arguments"])
except KeyError as missing:
    sys.exit(f"{{name}}: {missing} is missing")  # on stderr, exit code 1
with open(target, "w", encoding="utf-8") as file:
    json.dump(result, file, ensure_ascii=False)
