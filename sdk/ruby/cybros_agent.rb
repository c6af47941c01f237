# frozen_string_literal: true

# Hooks, gates, event hooks and tools for Agentry, in one file without dependencies. Ruby 2.7 or newer.
# sdk/README.md describes the protocol and the possible answers.
#
#     require "cybros_agent"
#     CybrosAgent.tool { |input| { fortune: "Great day for #{input.arguments["sign"]}!" } }

require "json"

module CybrosAgent
  # The runtime refused a query, or could not be reached.
  class Error < StandardError; end

  # The result of a classification.
  Label = Struct.new(:label, :confidence)

  # The maximum size of a query to the runtime, with its newline, in bytes; a query must be smaller.
  CALL_BYTES_MAX = 64 * 1024

  # The input of a program: `input["x"]`, `input.dig("x", "y")` and, for a top-level field, `input.x`.
  class Input
    # Fields that some events lack, and their defaults.
    DEFAULTS = {
      "arguments" => {}, "recent_messages" => [], "agent_state" => {}, "available_tools" => [], "args" => {},
      "turn_id" => nil, "current_persona" => nil, "tool_call" => nil, "tool_result" => nil,
      "principal" => nil, "permissions" => nil, "session" => nil, "hook" => nil, "now" => nil,
      "prompt" => nil, "cwd" => nil, "transcript_path" => nil, "permission_mode" => nil, "tool_use_id" => nil
    }.freeze

    def initialize(fields)
      @fields = fields
    end

    def [](key)
      @fields[key.to_s]
    end

    def dig(key, *rest)
      @fields.dig(key.to_s, *rest)
    end

    def key?(key)
      @fields.key?(key.to_s)
    end

    def to_h
      @fields
    end

    # The name of the moment; for an event hook, the event itself.
    def event
      self["event"] || self["hook_event_name"]
    end

    # The value under the names of both protocols.
    def conversation_id
      self["conversation_id"] || self["session_id"]
    end

    def session_id
      self["session_id"] || self["conversation_id"]
    end

    def tool_name
      self["tool_name"] || dig("tool_call", "name")
    end

    def tool_input
      self["tool_input"] || dig("tool_call", "arguments") || {}
    end

    # The config of the event hook.
    def config
      dig("hook", "config") || {}
    end

    def method_missing(name, *args)
      key = name.to_s
      return super unless args.empty? && respond_to_missing?(name)

      value = @fields[key]
      value.nil? ? DEFAULTS[key] : value
    end

    def respond_to_missing?(name, include_private = false)
      @fields.key?(name.to_s) || DEFAULTS.key?(name.to_s) || super
    end
  end

  class << self
    # --- Kinds of programs ------------------------------------------------------------------------

    # Shapes a turn: the block returns a Hash, or nil for no change.
    def hook(&block)
      run("HOOK", block) { |answer, _input| object(answer || {}, "hook") }
    end

    # Answers a tool call, with any JSON value.
    def tool(&block)
      run("TOOL", block) { |answer, _input| answer }
    end

    # Decides as a gate: see deny, ask, allow and update_input. nil means no objection.
    def gate(&block)
      run("HOOK", block, %i[deny ask allow update]) do |answer, input|
        answer.is_a?(Answer) ? gate_json(answer, input) : object(answer || {}, "gate")
      end
    end

    # Inspects an event: see fire and no. nil and false mean no, true means fire.
    def event_hook(&block)
      run("HOOK", block, %i[fire]) do |answer, _input|
        case answer
        when Answer then answer.fields
        when nil, false then { fire: false }
        when true then { fire: true }
        else object(answer, "event hook")
        end
      end
    end

    # --- Answers: each ends the block at once, wherever it is called -------------------------------

    def deny(why)
      answer(:deny, reason: why.to_s)
    end

    def ask(why)
      answer(:ask, reason: why.to_s)
    end

    def allow(why = nil)
      answer(:allow, reason: why)
    end

    def update_input(arguments)
      answer(:update, input: arguments)
    end

    def fire(prompt: nil, extracted: nil, agent: nil, include_thread: nil, disable_hook: nil)
      context = { prompt: prompt, extracted: extracted, include_thread: include_thread }.compact
      context = nil if context.empty?
      answer(:fire, { fire: true, agent: agent, context: context, disable_hook: disable_hook }.compact)
    end

    def no(disable_hook: nil)
      answer(:fire, { fire: false, disable_hook: disable_hook }.compact)
    end

    # --- During the run ------------------------------------------------------------------------------

    # Shows progress to the person: one line on stderr.
    def progress(text)
      $stderr.write("#{text.to_s.gsub(/\s*[\r\n]+\s*/, " ")}\n")
      $stderr.flush
    end

    # Keeps a file with the result. Returns its path.
    def artifact(name, bytes)
      dir = ENV["AGENTRY_ARTIFACTS"].to_s
      raise Error, "AGENTRY_ARTIFACTS is not set: there is no place for artifacts here" if dir.empty?
      raise Error, "not a plain file name: #{name.inspect}" if name =~ %r{[/\0]} || ["", ".", ".."].include?(name)

      path = File.join(dir, name)
      File.binwrite(path, bytes)
      path
    end

    # Queries the model. With json: true, the answer is parsed.
    def llm(prompt, system: nil, json: false, max_tokens: nil)
      text = call({ call: "llm", prompt: prompt, system: system, json: json, max_tokens: max_tokens })["text"]
      json && text.is_a?(String) ? JSON.parse(text) : text
    rescue JSON::ParserError
      raise Error, "the model did not answer with JSON"
    end

    # Classifies a text by these labels. Returns a Label with label and confidence (0.0 to 1.0).
    def classify(prompt, labels:)
      found = call({ call: "classify", prompt: prompt, labels: labels })
      Label.new(found["label"], found["confidence"])
    end

    # Searches earlier events: [{"eventId" => …, "score" => …}]. Times are Time or milliseconds since 1970.
    def search(query, channels: nil, since: nil, until_: nil, limit: nil)
      request = { call: "search", query: query, channels: channels, since: ms(since), until: ms(until_), limit: limit }
      call(request)["results"]
    end

    private

    Answer = Struct.new(:kind, :fields)
    private_constant :Answer

    def answer(kind, fields)
      throw :cybros_agent_answer, Answer.new(kind, fields)
    end

    # Reads the input, runs the block, writes its answer. A failure ends the program with exit code 1.
    def run(what, block, kinds = [])
      input = Input.new(read(what))
      found = catch(:cybros_agent_answer) { block.call(input) }
      raise Error, "an answer of another kind of hook: #{found.kind}" if found.is_a?(Answer) && !kinds.include?(found.kind)

      write(what, JSON.generate(yield(found, input)))
    rescue StandardError, ScriptError, NoMemoryError, SystemStackError => e
      $stderr.write("#{where(e)}#{e.class}: #{e.message.to_s.lines.first.to_s.chomp}\n")
      exit(1)
    end

    # The innermost line of the program: in its directory, and not in this file.
    def where(error)
      home = "#{File.dirname(File.realpath($PROGRAM_NAME))}/"
      line = error.backtrace_locations&.find do |at|
        at.absolute_path&.start_with?(home) && at.absolute_path != File.realpath(__FILE__)
      end
      line ? "#{File.basename(line.path)}:#{line.lineno}: " : ""
    rescue SystemCallError # the program is not a file, as with ruby -e
      ""
    end

    def object(answer, what)
      raise Error, "the #{what} must answer a Hash or nil, not #{answer.class}" unless answer.respond_to?(:to_h) && !answer.is_a?(Array)

      answer.to_h
    end

    def path(what, way)
      %w[AGENTRY CYBROS].map { |family| ENV["#{family}_#{what}_#{way}"].to_s }.find { |name| !name.empty? }
    end

    # Bytes, regardless of the locale: JSON is UTF-8.
    def read(what)
      name = path(what, "INPUT")
      text = name ? File.binread(name) : $stdin.binmode.read
      fields = JSON.parse(text.force_encoding(Encoding::UTF_8))
      fields.is_a?(Hash) ? fields : raise(Error, "the input is not a JSON object")
    end

    def write(what, text)
      name = path(what, "OUTPUT")
      return File.binwrite(name, text) if name

      $stdout.binmode.write("#{text}\n")
      $stdout.flush
    end

    # The format of other runtimes: a permission decision about a call, or a block at any other moment.
    def gate_json(answer, input)
      event = input["hook_event_name"] || (input["event"].is_a?(String) && input["event"]) || "PreToolUse"
      about_a_call = event == "PreToolUse"
      reason = answer.fields[:reason]
      return { decision: "block", reason: reason } if answer.kind == :deny && !about_a_call
      return {} if answer.kind == :allow && !about_a_call

      said = { hookEventName: event }
      if answer.kind == :update
        said[:updatedInput] = answer.fields[:input]
      else
        said[:permissionDecision] = answer.kind.to_s
        said[:permissionDecisionReason] = reason if reason
      end
      { hookSpecificOutput: said }
    end

    # Writes one line, and reads one line.
    def call(request)
      out, back = ENV["AGENTRY_CALL"].to_s, ENV["AGENTRY_ANSWER"].to_s
      raise Error, "the runtime cannot be asked: the hook must declare `model: true`" if out.empty? || back.empty?

      line = "#{JSON.generate(request.compact)}\n"
      raise Error, "the request has #{line.bytesize} bytes; it must stay below #{CALL_BYTES_MAX}" if line.bytesize >= CALL_BYTES_MAX

      File.open(out, File::WRONLY | File::BINARY) { |pipe| pipe.write(line) }
      told = File.open(back, "rb", &:gets)
      raise Error, "the runtime did not answer" unless told

      found = JSON.parse(told.force_encoding(Encoding::UTF_8))
      found["ok"] ? found : raise(Error, found["error"] || "the runtime said no")
    end

    def ms(time)
      time = time.to_time if time.respond_to?(:to_time) # a Date; Time itself has it only with "time"
      time.is_a?(Time) ? (time.to_r * 1000).to_i : time
    end
  end
end
