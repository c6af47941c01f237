"""Tests of sdk/python/agentry_agent.py: each program runs in an interpreter of its own."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")


class Case(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.room = room.name

    def path(self, name):
        return os.path.join(self.room, name)

    def run_program(self, program, input, what="AGENTRY_HOOK", **env):
        """Runs it with files, or without if `what` is None. Sets code, err, stdout and out (None: no output)."""
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write("import agentry_agent as a\n" + program + "\n")
        text = json.dumps(input)
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": LIBRARY, "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C", **env}
        if what:
            with open(self.path("in.json"), "w") as file:
                file.write(text)
            env[f"{what}_INPUT"], env[f"{what}_OUTPUT"] = self.path("in.json"), self.path("out.json")
        done = subprocess.run(
            [sys.executable, self.path("program.py")], input=text.encode(), env=env, capture_output=True, timeout=30
        )
        self.code, self.err, self.stdout = done.returncode, done.stderr.decode(), done.stdout.decode()
        self.out = None
        if os.path.exists(self.path("out.json")):
            with open(self.path("out.json"), encoding="utf-8") as file:
                self.out = json.load(file)
        return self.out

    def with_runtime(self, answer, program):
        """The same, with a runtime that answers one request and keeps it in `asked`."""
        for name in ("call", "answer"):
            os.mkfifo(self.path(name))

        def serve():
            with open(self.path("call"), encoding="utf-8") as pipe:
                self.asked = json.loads(pipe.readline())
            with open(self.path("answer"), "w", encoding="utf-8") as pipe:
                pipe.write(json.dumps(answer, ensure_ascii=False) + "\n")

        runtime = threading.Thread(target=serve, daemon=True)
        runtime.start()
        out = self.run_program(program, {}, AGENTRY_CALL=self.path("call"), AGENTRY_ANSWER=self.path("answer"))
        runtime.join(10)
        return out


class Programs(Case):
    def test_a_hook_answers(self):
        out = self.run_program(
            "a.hook(lambda input: {'system_prompt_append': input.event, 'state_updates': input.agent_state,"
            " 'tool_removals': input.available_tools})",
            {"event": "before_inference", "agent_state": {"n": 5}},
        )
        self.assertEqual(
            out, {"system_prompt_append": "before_inference", "state_updates": {"n": 5}, "tool_removals": []}
        )

    def test_a_hook_without_an_answer_changes_nothing(self):
        self.assertEqual(self.run_program("a.hook(lambda input: None)", {}), {})

    def test_a_tool_answers_under_the_names_of_the_seed(self):
        program = "@a.tool\ndef _(input):\n    return [input.arguments['sign'], input.turn_id, input.dig('arguments', 'x', 0)]"
        self.run_program(program, {"arguments": {"sign": "größer 世界 😀"}}, "CYBROS_TOOL")
        self.assertEqual((self.code, self.out), (0, ["größer 世界 😀", None, None]))

    def test_without_files_stdin_and_stdout_are_used(self):
        self.run_program("a.tool(lambda input: {'sign': input.arguments['sign']})", {"arguments": {"sign": "ö"}}, None)
        self.assertEqual((self.code, self.stdout), (0, '{"sign": "ö"}\n'))

    def test_an_exception_ends_with_1_and_without_output(self):
        self.run_program("def _(input):\n    import json\n    json.loads('x')\na.hook(_)", {})
        self.assertEqual((self.code, self.out), (1, None))
        self.assertIn("program.py:4: JSONDecodeError: ", self.err)
        self.assertEqual(len(self.err.splitlines()), 1)

    def test_what_is_not_json_ends_with_1_and_without_output(self):
        for answer in ("{'x': object()}", "float('nan')", "'\\ud800'"):
            self.run_program(f"a.tool(lambda input: {answer})", {}, "AGENTRY_TOOL")
            self.assertEqual((self.code, self.out), (1, None), answer)

    def test_a_hook_must_answer_an_object(self):
        self.run_program("a.hook(lambda input: [1])", {})
        self.assertEqual((self.code, self.err), (1, "Error: the hook must answer a dict or None, not list\n"))

    def test_an_answer_of_another_kind_is_an_error(self):
        self.run_program("def _(input):\n    a.deny('x')\na.hook(_)", {})
        self.assertEqual(
            (self.code, self.out, self.err), (1, None, "program.py:3: Error: an answer of another kind of hook: deny\n")
        )


class Gates(Case):
    def gate(self, body, event="PreToolUse"):
        program = f"@a.gate\ndef _(input):\n    {body}"
        return self.run_program(program, {"hook_event_name": event, "tool_name": "bash", "tool_input": {"command": "rm"}})

    def test_a_gate_denies_though_the_program_catches_everything_and_goes_on(self):
        out = self.gate("try:\n        a.deny('no ' + input.tool_name)\n    except Exception: pass\n    return None")
        said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no bash"}
        self.assertEqual((self.code, out), (0, {"hookSpecificOutput": said}))

    def test_a_gate_asks(self):
        said = {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "why"}
        self.assertEqual(self.gate("a.ask('why')"), {"hookSpecificOutput": said})

    def test_a_gate_allows(self):
        said = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
        self.assertEqual(self.gate("a.allow()"), {"hookSpecificOutput": said})

    def test_a_gate_changes_the_input(self):
        said = {"hookEventName": "PreToolUse", "updatedInput": {"command": "rm -i"}}
        out = self.gate("a.update_input({'command': input.tool_input['command'] + ' -i'})")
        self.assertEqual(out, {"hookSpecificOutput": said})

    def test_a_gate_that_is_not_about_a_call_blocks(self):
        self.assertEqual(self.gate("a.deny('not yet')", "Stop"), {"decision": "block", "reason": "not yet"})

    def test_a_gate_does_not_mind(self):
        self.assertEqual(self.gate("return None"), {})


class EventHooks(Case):
    def test_an_event_hook_fires(self):
        program = "@a.event_hook\ndef _(input):\n    a.fire(prompt=input.event['content'], extracted=input.config, agent='x')\n    a.no()"
        out = self.run_program(program, {"event": {"content": "ö"}, "hook": {"config": {"k": 1}}})
        self.assertEqual(out, {"fire": True, "agent": "x", "context": {"prompt": "ö", "extracted": {"k": 1}}})

    def test_an_event_hook_says_no(self):
        self.assertEqual(self.run_program("a.event_hook(lambda input: None)", {}), {"fire": False})
        out = self.run_program("a.event_hook(lambda input: a.no(disable_hook=True))", {})
        self.assertEqual(out, {"fire": False, "disable_hook": True})

    def test_a_classification(self):
        program = "@a.event_hook\ndef _(input):\n    got = a.classify('Wie groß?', labels=['größer', 'kleiner'])\n    a.fire(extracted=list(got))"
        out = self.with_runtime({"ok": True, "label": "größer", "confidence": 0.9}, program)
        self.assertEqual(out, {"fire": True, "context": {"extracted": ["größer", 0.9]}})
        self.assertEqual(self.asked, {"call": "classify", "prompt": "Wie groß?", "labels": ["größer", "kleiner"]})

    def test_the_model_is_asked_for_json(self):
        program = "a.event_hook(lambda input: a.fire(extracted=a.llm('2+2?', system='brief', json=True, max_tokens=9)))"
        out = self.with_runtime({"ok": True, "text": '{"n": 4}'}, program)
        self.assertEqual(out, {"fire": True, "context": {"extracted": {"n": 4}}})
        self.assertEqual(self.asked, {"call": "llm", "prompt": "2+2?", "system": "brief", "json": True, "max_tokens": 9})

    def test_a_search(self):
        program = (
            "import datetime as d\n"
            "since = d.datetime.fromtimestamp(1.5, d.timezone.utc)\n"
            "a.event_hook(lambda input: a.fire(extracted=a.search('rent', channels=['mail'], since=since, until=9, limit=3)))"
        )
        out = self.with_runtime({"ok": True, "results": [{"eventId": "e1", "score": 0.5}]}, program)
        self.assertEqual(out, {"fire": True, "context": {"extracted": [{"eventId": "e1", "score": 0.5}]}})
        self.assertEqual(
            self.asked, {"call": "search", "query": "rent", "channels": ["mail"], "since": 1500, "until": 9, "limit": 3}
        )

    def test_a_refusal_is_an_error(self):
        out = self.with_runtime({"ok": False, "error": "spent"}, "a.event_hook(lambda input: a.llm('x'))")
        self.assertEqual((self.code, out, self.err), (1, None, "program.py:2: Error: spent\n"))

    def test_without_pipes_it_says_what_to_declare(self):
        self.run_program("a.event_hook(lambda input: a.llm('x'))", {})
        self.assertIn("the hook must declare `model: true`", self.err)
        self.assertEqual((self.code, self.out), (1, None))

    def test_a_request_has_a_limit(self):
        self.run_program("a.event_hook(lambda input: a.llm('x' * 70000))", {}, AGENTRY_CALL="/x", AGENTRY_ANSWER="/x")
        self.assertIn("it must stay below 65536", self.err)


class WhileItRuns(Case):
    def test_progress_is_one_line(self):
        self.run_program("a.hook(lambda input: a.progress('half\\n  wäy'))", {})
        self.assertEqual((self.code, self.err), (0, "half wäy\n"))

    def test_an_artifact_is_kept(self):
        self.run_program("a.tool(lambda input: a.artifact('ä.bin', b'\\x00\\xff'))", {}, "AGENTRY_TOOL", AGENTRY_ARTIFACTS=self.room)
        with open(self.path("ä.bin"), "rb") as file:
            self.assertEqual(file.read(), b"\x00\xff")
        self.assertEqual(self.out, self.path("ä.bin"))

    def test_an_artifact_stays_in_its_place(self):
        self.run_program("a.tool(lambda input: a.artifact('../a', ''))", {}, "AGENTRY_TOOL", AGENTRY_ARTIFACTS=self.room)
        self.assertIn("not a plain file name", self.err)
        self.assertEqual((self.code, self.out), (1, None))


if __name__ == "__main__":
    unittest.main()
