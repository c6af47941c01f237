//! The codes of all defects, each with its usual severity and a one-line title.
//!
//! A code never changes its meaning. Each has a page in `docs/errors`, shown by `agentry explain`.
//!
//! Must never: reuse a number of the past.

use std::fmt;

use serde::{Serialize, Serializer};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Information; no change is needed.
    Note,
    /// The file loads, but probably not as intended. `--strict` makes it an error.
    Warning,
    /// The file does not load.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

macro_rules! codes {
    ($($variant:ident = $code:literal, $severity:ident, $title:literal;)*) => {
        /// The codes of all defects.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DiagnosticCode { $(#[doc = $title] $variant),* }

        impl DiagnosticCode {
            /// All codes, in order.
            pub const ALL: &'static [DiagnosticCode] = &[$(DiagnosticCode::$variant),*];

            /// Returns the code as it is printed.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),* }
            }

            /// Returns the meaning of the code, in one line.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),* }
            }

            /// Returns the usual severity of the code.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity),* }
            }
        }
    };
}

codes! {
    NotUtf8 = "E0101", Error, "The file is not UTF-8 text.";
    TooLarge = "E0102", Error, "The file is larger than a definition may be.";
    NulByte = "E0103", Error, "The file contains a NUL byte.";
    LinkLeavesRoot = "E0104", Error, "A link leads out of the directory that is read.";
    Unreadable = "E0105", Error, "A file or directory is there but cannot be read.";
    TooManyFiles = "E0106", Error, "The directory holds more than may be read.";
    ReadTimeout = "E0107", Error, "Reading the directory took too long.";
    NothingHere = "E0108", Error, "No definition was found at the path.";
    NotARegularFile = "E0109", Error, "A definition is not a regular file.";
    MissingFile = "E0110", Error, "A required file is missing.";
    EmptyFile = "E0111", Warning, "The file says nothing.";
    Misnamed = "E0112", Warning, "A name is nearly one that is read, and so is not read.";

    YamlSyntax = "E0201", Error, "The YAML does not parse.";
    YamlAlias = "E0202", Error, "YAML anchors and aliases are not accepted.";
    YamlTag = "E0203", Error, "YAML tags are not accepted.";
    DuplicateKey = "E0204", Error, "A key stands twice in one map.";
    TooDeep = "E0205", Error, "The file nests too deep.";
    TooManyNodes = "E0206", Error, "The file holds too many values.";
    NoFrontMatter = "E0207", Error, "The file needs front matter.";
    FrontMatterOpen = "E0208", Error, "The front matter is not closed.";
    NotAMapping = "E0209", Error, "The file must be a map of fields.";
    JsonSyntax = "E0210", Error, "The JSON does not parse.";
    TomlSyntax = "E0211", Error, "The TOML does not parse.";
    QuotedForYou = "E0212", Warning, "A value with a colon was read as if it were quoted.";
    KeyNotText = "E0213", Error, "A key is not plain text.";
    SeveralDocuments = "E0214", Error, "The file holds more than one YAML document.";

    UnknownField = "E0301", Error, "The field is not known here.";
    MissingField = "E0302", Error, "A required field is missing.";
    WrongType = "E0303", Error, "The value has the wrong type.";
    NotOneOf = "E0304", Error, "The value is not one of those that are allowed.";
    OutOfRange = "E0305", Error, "The value is too small, too large, too short or too long.";
    NotAMatcher = "E0306", Error, "A matcher has exactly one of the eight known keys.";

    UnknownTool = "E0401", Error, "No tool has this name.";
    ShadowsHostTool = "E0402", Error, "A custom tool takes the name of a tool of the host.";
    ToolSchemaMissing = "E0403", Error, "A custom tool has no schema file.";
    ToolProgramMissing = "E0404", Error, "A custom tool has no program.";
    ToolProgramTwice = "E0405", Error, "A custom tool has more than one program.";
    ToolNotExecutable = "E0406", Error, "The program of a custom tool is not executable.";
    ToolNameMismatch = "E0407", Error, "A tool's schema names another tool than its file.";
    BadToolSchema = "E0408", Error, "The parameters of a tool are not a JSON Schema of an object.";
    ToolNotListed = "E0409", Warning, "A tool is there but the agent does not list it.";
    ToolUnavailable = "E0410", Note, "A known tool cannot be offered here and is left out.";
    ListedTwice = "E0411", Warning, "A list names the same thing twice.";
    ToolNameForm = "E0412", Error, "A custom tool has a name that models do not take.";
    BadToolOutput = "E0413", Error, "The output of a tool is not a JSON Schema.";
    ToolArtifacts = "E0414", Error, "The folder for a tool's artifacts is not a plain relative path.";
    UnknownSkill = "E0421", Error, "No skill has this id.";
    UnknownTask = "E0422", Error, "No task has this id.";
    UnknownAgent = "E0423", Error, "No agent has this id.";
    DuplicateId = "E0424", Warning, "Two definitions have the same id.";
    SaidTwice = "E0426", Error, "Two files say different things about one value.";
    UnknownMcpServer = "E0427", Error, "No MCP server has this name.";
    BrokenReference = "E0428", Error, "What is referred to exists but does not load.";
    AgentIdForm = "E0429", Error, "The name of an agent's directory cannot be an id.";
    AgentIdCase = "E0430", Error, "The ids of two agents differ only in case.";
    UnknownPersona = "E0431", Error, "No persona has this name.";
    PersonaNotListed = "E0432", Warning, "A persona is there but the agent does not list it.";
    PersonaEmpty = "E0433", Error, "A persona has neither a SOUL.md nor a template.";
    HookMissing = "E0434", Error, "A hook is switched on but has no program.";
    HookNotExecutable = "E0435", Error, "A hook is switched on but its program is not executable.";
    HookNotDeclared = "E0436", Warning, "A hook's program is there but agent.yml does not name it.";
    HookForm = "E0437", Error, "A hook says something that its moment does not have.";
    RuleForAbsentTool = "E0441", Error, "An approval rule is for something the agent does not have.";
    BadRegex = "E0442", Error, "The regular expression does not compile.";
    RuleUnreachable = "E0443", Warning, "An earlier rule always matches first.";
    ExampleFails = "E0444", Error, "An example of an approval rule comes out otherwise.";
    ShortModelName = "E0451", Warning, "A model should be given by its full name.";

    SkillNameMismatch = "E0501", Warning, "A skill's name differs from its directory.";
    SkillNameForm = "E0502", Warning, "A skill's name has characters or a case that are not allowed.";
    SkillNameLong = "E0503", Warning, "A skill's name is too long.";
    SkillDescriptionLong = "E0504", Warning, "A skill's description is too long.";
    SkillDescriptionEmpty = "E0505", Error, "A skill has no description.";
    SkillCompatibility = "E0506", Warning, "A skill's compatibility note is empty or too long.";
    SkillMetadata = "E0507", Warning, "A skill's metadata maps names to plain values.";
    SkillNotInSpec = "E0508", Error, "The field is not part of the Agent Skills specification.";
    SkillAllowedTools = "E0509", Warning, "A skill's allowed-tools is one text with spaces between.";
    SkillBodyLong = "E0510", Warning, "A skill's body is longer than loads well.";

    NextLeavesTask = "E0601", Error, "`next` leads out of the task's directory.";
    NextMissing = "E0602", Error, "`next` names a file that is not there.";
    NextCycle = "E0603", Error, "The steps of a task run in a circle.";
    NextIsTask = "E0604", Error, "`next` leads back to TASK.md.";
    InputsInStep = "E0605", Error, "Only TASK.md may have inputs.";
    InputTwice = "E0606", Error, "Two inputs have the same name.";
    UnknownInput = "E0607", Error, "A step uses an input that the task does not have.";
    StepUnused = "E0608", Warning, "A step file is not reached from TASK.md.";
    InputName = "E0609", Error, "The name of an input is not an identifier.";
    TooManySteps = "E0610", Error, "A task has too many steps.";

    TemplateSyntax = "E0701", Error, "The template does not parse.";
    UnknownVariable = "E0702", Warning, "The template uses a variable that does not exist.";
    TemplateBudget = "E0703", Error, "The template costs more than it may.";
    PerTurnVariable = "E0704", Warning, "A variable of the moment moves the stable prompt.";
    TemplateFails = "E0705", Error, "The template does not render.";

    DiaryName = "E0802", Warning, "A file in memory/ is not named by a date.";
    EnvironmentValue = "E0803", Error, "An environment variable has a value that cannot be used.";
    OverTheCap = "E0804", Warning, "A limit is above its cap and is lowered to it.";
    AccessForUnknownTool = "E0805", Warning, "tool-access.json names a tool that does not exist.";
    TwoToolAccessFiles = "E0806", Error, "An agent has two tool-access files.";

    EmptyAllowlist = "E0901", Warning, "A provider with an empty allowlist serves nothing.";
    MissingRoot = "E0902", Warning, "A configured directory or file is not there.";
    McpServerForm = "E0903", Error, "An MCP server needs a command or a url, and not both.";
    UnknownEnvironment = "E0904", Warning, "An AGENTRY_ variable has no meaning.";
    SettingForm = "E0905", Error, "A setting on the command line is not written as key=value.";
    OperatorOnly = "E0906", Warning, "Only your own settings may say this; it has no effect.";
    VariableNotPassed = "E0907", Error, "A variable is never passed to commands.";
    DomainForm = "E0908", Error, "An allowed domain is not the name of a host.";
    SharedSecrets = "E0909", Error, "A project says who gets a secret.";
    SharedChannels = "E0910", Error, "A project says how others reach agents.";
    ChannelForm = "E0911", Error, "A channel or a webhook cannot be used as it is written.";

    AccessTime = "E1001", Error, "A time of an access policy cannot be read.";
    SessionKeyForm = "E1002", Error, "The session key of an access policy cannot be used.";
    AccessOpenness = "E1003", Error, "A data level is not one of the four.";
    PolicyTwice = "E1004", Error, "Two access policies have the same name.";
    DenyWithPowers = "E1005", Error, "An access policy that denies also gives something.";
    OnlyModifies = "E1006", Note, "An access policy only modifies, and so lets nobody in.";
    EmptyCondition = "E1007", Warning, "A condition of an access policy says nothing.";
    FlagWithoutGround = "E1008", Error, "`ceiling` or `isolate` stands where it can do nothing.";
    PolicyExampleFails = "E1011", Error, "An example of an access policy comes out otherwise.";
    PolicyUnreachable = "E1012", Warning, "An access policy allows only what another denies.";
    PolicyNeverMatches = "E1013", Warning, "An access policy can never concern anybody.";
    PolicyUnknownTool = "E1014", Warning, "An access policy names a tool that does not exist.";
    PolicyWithoutEffect = "E1015", Warning, "An access policy changes nothing.";
    CeilingsApart = "E1016", Warning, "Two ceilings leave no tool between them.";
}

impl DiagnosticCode {
    /// Returns the code with this printed form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str().eq_ignore_ascii_case(text))
    }
}

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for DiagnosticCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
