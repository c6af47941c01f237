#!/usr/bin/env ruby
# The tool {{name}}. Input and output are JSON, in the files that these variables name.
# Exit code 0 means that the answer is written; any other is a failure, with the reason on stderr.
require "json"

# The answer for the model: any JSON value.
def answer(arguments)
  { greeting: "Hello, #{arguments.fetch("text")}!" }
end

source = ENV["AGENTRY_TOOL_INPUT"] || ENV["CYBROS_TOOL_INPUT"] || "/dev/stdin"
target = ENV["AGENTRY_TOOL_OUTPUT"] || ENV["CYBROS_TOOL_OUTPUT"] || "/dev/stdout"

begin
  result = answer(JSON.parse(File.read(source, encoding: "UTF-8")).fetch("arguments"))
rescue KeyError => e
  abort "{{name}}: #{e.message}" # on stderr, exit code 1
end
File.write(target, JSON.generate(result))
