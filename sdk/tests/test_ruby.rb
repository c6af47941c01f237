# frozen_string_literal: true

# Tests of sdk/ruby/cybros_agent.rb: each program runs in a Ruby of its own. Plain asserts, so that nothing
# has to be installed.

require "json"
require "open3"
require "rbconfig"
require "tmpdir"

LIBRARY = File.expand_path("../ruby", __dir__)
Run = Struct.new(:code, :out, :err, :stdout, :asked, :room)
NONE = :no_output
$failed = 0

def same(name, expected, found)
  return puts("ok #{name}") if expected == found

  $failed += 1
  warn "FAILED #{name}\n  expected: #{expected.inspect}\n  found:    #{found.inspect}"
end

# Runs a program with files, or without if `what` is nil. With an answer there is a runtime for one request.
def run(program, input, what: "AGENTRY_HOOK", answer: nil, env: {}, artifacts: false)
  Dir.mktmpdir do |room|
    room = File.realpath(room)
    at = ->(name) { File.join(room, name) }
    File.write(at["program.rb"], "require \"cybros_agent\"\n#{program}\n")
    File.write(at["in.json"], JSON.generate(input))
    env = env.merge("RUBYLIB" => LIBRARY, "LC_ALL" => "C")
    env = env.merge("#{what}_INPUT" => at["in.json"], "#{what}_OUTPUT" => at["out.json"]) if what
    env = env.merge("AGENTRY_ARTIFACTS" => room) if artifacts
    env = env.merge("AGENTRY_CALL" => at["call"], "AGENTRY_ANSWER" => at["answer"]) if answer
    runtime = serve(room, answer) if answer
    stdout, err, status = Open3.capture3(env, RbConfig.ruby, at["program.rb"], stdin_data: JSON.generate(input))
    out = File.exist?(at["out.json"]) ? JSON.parse(File.read(at["out.json"], encoding: "UTF-8")) : NONE
    yield room if block_given?
    Run.new(status.exitstatus, out, err.force_encoding("UTF-8"), stdout.force_encoding("UTF-8"), runtime&.join(10)&.value, room)
  end
end

def serve(room, answer)
  pipes = %w[call answer].map { |name| File.join(room, name).tap { |path| File.mkfifo(path) } }
  Thread.new do
    asked = File.open(pipes[0], "r:UTF-8", &:gets)
    File.open(pipes[1], "w:UTF-8") { |pipe| pipe.puts(JSON.generate(answer)) }
    JSON.parse(asked)
  end
end

# --- Hooks and tools -----------------------------------------------------------------------------------

done = run(<<~'RUBY', { event: "before_inference", agent_state: { n: 5 } })
  CybrosAgent.hook do |input|
    { system_prompt_append: input.event, state_updates: input.agent_state, tool_removals: input.available_tools }
  end
RUBY
same "a hook answers",
     [0, { "system_prompt_append" => "before_inference", "state_updates" => { "n" => 5 }, "tool_removals" => [] }],
     [done.code, done.out]

same "a hook without an answer changes nothing", {}, run("CybrosAgent.hook { |input| nil }", {}).out

done = run('CybrosAgent.tool { |input| [input.arguments["sign"], input[:x], input.turn_id, input.dig("arguments", "y")] }',
           { arguments: { sign: "größer 世界 😀" }, x: 1 }, what: "CYBROS_TOOL")
same "a tool answers, under the CYBROS_ names", ["größer 世界 😀", 1, nil, nil], done.out

done = run('CybrosAgent.tool { |input| { sign: input.arguments["sign"] } }', { arguments: { sign: "ö" } }, what: nil)
same "without files, stdin and stdout are used", [0, "{\"sign\":\"ö\"}\n"], [done.code, done.stdout]

done = run("CybrosAgent.hook do |input|\n  JSON.parse('x')\nend", {})
same "an exception ends with 1 and without output", [1, NONE, 1], [done.code, done.out, done.err.lines.size]
same "an exception names its line", "program.rb:3: JSON::ParserError", done.err[/\A.*?ParserError/]

done = run("CybrosAgent.hook { |input| input.nothing_like_it }", {})
same "an unknown field is an error", [1, NONE, true], [done.code, done.out, done.err.start_with?("program.rb:2: NoMethodError")]

done = run("CybrosAgent.tool { |input| Float::NAN }", {}, what: "AGENTRY_TOOL")
same "what is not JSON ends with 1 and without output", [1, NONE], [done.code, done.out]

done = run("CybrosAgent.hook { |input| [1] }", {})
same "a hook must answer a Hash", [1, NONE], [done.code, done.out]

done = run('CybrosAgent.hook { |input| CybrosAgent.deny("x") }', {})
same "an answer of another kind is an error", [1, NONE], [done.code, done.out]

# --- Gates -----------------------------------------------------------------------------------------------

def gate(body, event = "PreToolUse")
  run("CybrosAgent.gate do |input|\n#{body}\nend", { hook_event_name: event, tool_name: "bash", tool_input: { command: "rm" } }).out
end

def about_a_call(said)
  { "hookSpecificOutput" => { "hookEventName" => "PreToolUse", **said } }
end

same "a gate denies though the program catches everything and goes on",
     about_a_call("permissionDecision" => "deny", "permissionDecisionReason" => "no bash"),
     gate("begin\nCybrosAgent.deny(\"no \#{input.tool_name}\")\nrescue Exception\nend\nnil")
same "a gate asks", about_a_call("permissionDecision" => "ask", "permissionDecisionReason" => "why"), gate('CybrosAgent.ask("why")')
same "a gate allows", about_a_call("permissionDecision" => "allow"), gate("CybrosAgent.allow")
same "a gate changes the input", about_a_call("updatedInput" => { "command" => "rm -i" }),
     gate('CybrosAgent.update_input({ command: "#{input.tool_input["command"]} -i" })')
same "a gate that is not about a call blocks", { "decision" => "block", "reason" => "not yet" }, gate('CybrosAgent.deny("not yet")', "Stop")
same "a gate does not mind", {}, gate("nil")

# --- Event hooks -----------------------------------------------------------------------------------------

done = run('CybrosAgent.event_hook { |input| CybrosAgent.fire(prompt: input.event["content"], extracted: input.config, agent: "x") }',
           { event: { content: "ö" }, hook: { config: { k: 1 } } })
same "an event hook fires", { "fire" => true, "agent" => "x", "context" => { "prompt" => "ö", "extracted" => { "k" => 1 } } }, done.out

done = run("CybrosAgent.event_hook do |input|\n  CybrosAgent.no(disable_hook: true) if true\n  CybrosAgent.fire\nend", {})
same "an event hook says no", { "fire" => false, "disable_hook" => true }, done.out
same "an event hook without an answer says no", { "fire" => false }, run("CybrosAgent.event_hook { |input| nil }", {}).out

done = run(<<~'RUBY', {}, answer: { ok: true, label: "größer", confidence: 0.9 })
  CybrosAgent.event_hook do |input|
    found = CybrosAgent.classify("Wie groß?", labels: %w[größer kleiner])
    CybrosAgent.fire(extracted: [found.label, found.confidence])
  end
RUBY
same "a classification asks", { "call" => "classify", "prompt" => "Wie groß?", "labels" => %w[größer kleiner] }, done.asked
same "a classification answers", { "fire" => true, "context" => { "extracted" => ["größer", 0.9] } }, done.out

done = run('CybrosAgent.event_hook { |input| CybrosAgent.fire(extracted: CybrosAgent.llm("2+2?", system: "brief", json: true, max_tokens: 9)) }',
           {}, answer: { ok: true, text: '{"n": 4}' })
same "the model is asked", { "call" => "llm", "prompt" => "2+2?", "system" => "brief", "json" => true, "max_tokens" => 9 }, done.asked
same "the model answers with JSON", { "fire" => true, "context" => { "extracted" => { "n" => 4 } } }, done.out

done = run(<<~'RUBY', {}, answer: { ok: true, results: [{ eventId: "e1", score: 0.5 }] })
  CybrosAgent.event_hook do |input|
    CybrosAgent.fire(extracted: CybrosAgent.search("rent", channels: ["mail"], since: Time.at(1.5), until_: 9, limit: 3))
  end
RUBY
same "a search asks", { "call" => "search", "query" => "rent", "channels" => ["mail"], "since" => 1500, "until" => 9, "limit" => 3 }, done.asked
same "a search answers", { "fire" => true, "context" => { "extracted" => [{ "eventId" => "e1", "score" => 0.5 }] } }, done.out

done = run('CybrosAgent.event_hook { |input| CybrosAgent.llm("x") }', {}, answer: { ok: false, error: "spent" })
same "a refusal is an error", [1, NONE, "program.rb:2: CybrosAgent::Error: spent\n"], [done.code, done.out, done.err]

done = run('CybrosAgent.event_hook { |input| CybrosAgent.llm("x") }', {})
same "without pipes it says what to declare", [1, NONE, true], [done.code, done.out, done.err.include?("the hook must declare `model: true`")]

done = run('CybrosAgent.event_hook { |input| CybrosAgent.llm("x" * 70_000) }', {}, env: { "AGENTRY_CALL" => "/x", "AGENTRY_ANSWER" => "/x" })
same "a request has a limit", true, done.err.include?("it must stay below 65536")

# --- While it runs ---------------------------------------------------------------------------------------

done = run('CybrosAgent.hook { |input| CybrosAgent.progress("half\n  wäy"); nil }', {})
same "progress is one line", [0, "half wäy\n"], [done.code, done.err]

bytes = nil
done = run('CybrosAgent.tool { |input| CybrosAgent.artifact("ä.bin", "\x00\xFF".b) }', {}, what: "AGENTRY_TOOL", artifacts: true) do |room|
  bytes = File.binread(File.join(room, "ä.bin")).bytes
end
same "an artifact is kept", [[0, 255], "#{done.room}/ä.bin"], [bytes, done.out]

done = run('CybrosAgent.tool { |input| CybrosAgent.artifact("../a", "") }', {}, what: "AGENTRY_TOOL", artifacts: true)
same "an artifact stays in its place", [1, NONE, true], [done.code, done.out, done.err.include?("not a plain file name")]

exit($failed.zero? ? 0 : 1)
