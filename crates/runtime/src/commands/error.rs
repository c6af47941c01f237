//! The reasons why a command was refused, with what to do about each.
//!
//! Must never: stand for a command that was recorded.

use agentry_agentfile::diagnostic::{Diagnostic, Severity};
use agentry_kernel::permission_request::WrongAnswer;
use agentry_protocol::token::TokenScope;
use agentry_protocol::{ApprovalId, ContentHash, EventHookId, GrantId, RunId, TokenId};
use agentry_store::Error as StoreError;

use crate::limits::{
    ENTITY_NAME_CHARS_MAX, ENTITY_TAGS_MAX, ENTITY_WORD_CHARS_MAX, HOOK_FILE_BYTES_MAX,
    KEY_NAME_CHARS_MAX,
};

/// The reason why a command was refused. Nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The ledger failed to read or append, or its state forbids the entry.
    #[error(transparent)]
    Ledger(#[from] StoreError),
    /// There is no such run.
    #[error("there is no run `{0}`")]
    UnknownRun(RunId),
    /// The run has ended, so nothing can be asked of it.
    #[error("run {0} has already ended")]
    RunEnded(RunId),
    /// The autonomous mode was asked for where no sandbox confines the calls.
    #[error(
        "wiggum mode needs the sandbox, which is off: calls would run without approval and without \
         confinement"
    )]
    ModeWithoutSandbox,
    /// The answer does not suit its approval.
    #[error("{0}")]
    WrongAnswer(WrongAnswer),
    /// The run has no such approval.
    #[error("there is no approval `{0}`")]
    UnknownApproval(ApprovalId),
    /// The answer is to another content than the approval has.
    #[error("the digest of the answer does not match the call of `{0}`")]
    OtherContent(ApprovalId),
    /// A no was to reach beyond its call.
    #[error("`reach` needs `allow`: a no holds for this call only")]
    ReachWithNo,
    /// The changed arguments are not an object.
    #[error("the changed arguments are not a JSON object")]
    EditNotObject,
    /// The changed arguments hold the value of a secret.
    #[error(
        "the arguments hold the value of a secret, which would be recorded and sent to the model; \
         write the variable that has it instead (`agentry secret list`)"
    )]
    SecretInArguments,
    /// A grant without a receiver.
    #[error("a grant needs a receiver")]
    GrantWithoutReceiver,
    /// A grant of nothing.
    #[error("a grant needs at least one resource")]
    GrantWithoutResource,
    /// A grant that ends when it begins.
    #[error("a grant lasts at least a millisecond")]
    GrantWithoutTime,
    /// There is no such grant.
    #[error("there is no grant `{0}`")]
    UnknownGrant(GrantId),
    /// The grant was revoked before.
    #[error("grant {0} is already revoked")]
    GrantRevoked(GrantId),
    /// The name of a key is empty or too long.
    #[error("the name of a key must have 1 to {KEY_NAME_CHARS_MAX} characters")]
    KeyName,
    /// A key that opens nothing.
    #[error("a key needs at least one scope")]
    KeyWithoutScope,
    /// A key with a scope that the key of its issuer lacks.
    #[error("a key without the scope `{0}` cannot create a key with it")]
    ScopeBeyondIssuer(TokenScope),
    /// A scope of the owner for an entity that is not the owner.
    #[error("only the owner can have a key with the scope `{0}`")]
    ScopeOfOwner(TokenScope),
    /// There is no such key.
    #[error("there is no key `{0}`")]
    UnknownKey(TokenId),
    /// There is no such entity.
    #[error("no entity is known as `{0}`")]
    UnknownEntity(String),
    /// The name of an entity is empty, too long, or has invisible characters.
    #[error("the name is empty, too long, or has invisible characters")]
    EntityName,
    /// No id can be made of this name.
    #[error("cannot derive an id from `{0}`")]
    NoIdInName(String),
    /// A word that policies cannot name.
    #[error("`{text}` is not a valid {what}")]
    EntityWord {
        /// The kind of word: id, relationship, tag or account.
        what: &'static str,
        /// The word.
        text: String,
    },
    /// The id belongs to another entity.
    #[error("the id `{id}` is taken by {name}")]
    EntityIdTaken {
        /// The id.
        id: String,
        /// The name of the entity that has it.
        name: String,
    },
    /// There is an entity for the owner.
    #[error("the owner already exists as `{0}`")]
    OwnerExists(String),
    /// Too many tags.
    #[error("an entity has at most {ENTITY_TAGS_MAX} tags")]
    TooManyTags,
    /// A text that is not a channel and an id there.
    #[error("`{text}` is not an identity: {why}")]
    WrongIdentity {
        /// The text.
        text: String,
        /// The reason.
        why: String,
    },
    /// The entity does not have this identity.
    #[error("`{entity}` has no identity {identity}")]
    UnknownIdentity {
        /// The id of the entity.
        entity: String,
        /// The identity, as channel and id.
        identity: String,
    },
    /// There is no such hook.
    #[error("there is no hook `{0}`")]
    UnknownHook(EventHookId),
    /// The hook was deleted.
    #[error("the hook `{0}` was deleted")]
    HookDeleted(String),
    /// The script of a hook is empty.
    #[error("{0} is empty")]
    HookScriptEmpty(String),
    /// The script of a hook is too large.
    #[error("{0} is too large")]
    HookScriptTooLarge(String),
    /// The fields of a hook are not valid.
    #[error("{file} does not describe a hook: {}", errors(findings))]
    WrongHook {
        /// The place that the findings name.
        file: String,
        /// All findings, sorted by place.
        findings: Vec<Diagnostic>,
    },
    /// A reviewed file that is not one of the trusted files.
    #[error("a file with the hash {0} was not reviewed")]
    FileNotReviewed(ContentHash),
}

/// The kinds of refusals, by the one who can act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandErrorKind {
    /// The request itself is wrong.
    Invalid,
    /// The object of the request does not exist.
    NotFound,
    /// The request does not fit the present state.
    Conflict,
    /// The caller may not do this.
    Forbidden,
    /// The ledger failed; the error of the store has a class of its own.
    Ledger,
}

impl CommandError {
    /// Returns the kind of the refusal.
    pub fn kind(&self) -> CommandErrorKind {
        match self {
            Self::Ledger(_) => CommandErrorKind::Ledger,
            Self::UnknownRun(_)
            | Self::UnknownApproval(_)
            | Self::UnknownGrant(_)
            | Self::UnknownKey(_)
            | Self::UnknownIdentity { .. }
            | Self::UnknownHook(_) => CommandErrorKind::NotFound,
            Self::RunEnded(_)
            | Self::OtherContent(_)
            | Self::GrantRevoked(_)
            | Self::EntityIdTaken { .. }
            | Self::OwnerExists(_)
            | Self::HookDeleted(_)
            | Self::FileNotReviewed(_) => CommandErrorKind::Conflict,
            Self::ScopeBeyondIssuer(_) => CommandErrorKind::Forbidden,
            Self::ModeWithoutSandbox
            | Self::WrongAnswer(_)
            | Self::ReachWithNo
            | Self::EditNotObject
            | Self::SecretInArguments
            | Self::GrantWithoutReceiver
            | Self::GrantWithoutResource
            | Self::GrantWithoutTime
            | Self::KeyName
            | Self::KeyWithoutScope
            | Self::ScopeOfOwner(_)
            | Self::UnknownEntity(_)
            | Self::EntityName
            | Self::NoIdInName(_)
            | Self::EntityWord { .. }
            | Self::TooManyTags
            | Self::WrongIdentity { .. }
            | Self::HookScriptEmpty(_)
            | Self::HookScriptTooLarge(_)
            | Self::WrongHook { .. } => CommandErrorKind::Invalid,
        }
    }

    /// Returns the advice what to do; None if the text says it, or if there is none.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::ModeWithoutSandbox => {
                "remove `sandbox.enabled = false` from your settings, or use --mode structured"
            }
            Self::OtherContent(_) => "read the approval again and use its digest",
            Self::ScopeOfOwner(_) => {
                "keys of others can have `read` and `submit`; policies decide what they may do"
            }
            Self::UnknownEntity(_) => "`agentry entities list` lists the known entities",
            Self::EntityName => {
                return Some(format!("write a name of at most {ENTITY_NAME_CHARS_MAX} characters"));
            }
            Self::NoIdInName(_) => "give one with --id",
            Self::EntityWord { .. } => {
                return Some(format!(
                    "write at most {ENTITY_WORD_CHARS_MAX} letters, digits, `.`, `_`, `-` and `@`, \
                     beginning with a letter or a digit"
                ));
            }
            Self::EntityIdTaken { .. } => "choose another id with --id",
            Self::OwnerExists(id) => {
                return Some(format!(
                    "add another identity of yours: agentry entities link {id} CHANNEL:ID"
                ));
            }
            Self::WrongIdentity { .. } => {
                "write the channel and the id there, such as discord:1234"
            }
            Self::HookDeleted(_) => "register it again",
            Self::HookScriptEmpty(_) => "write the script first",
            Self::HookScriptTooLarge(_) => {
                return Some(format!("a script has at most {HOOK_FILE_BYTES_MAX} bytes"));
            }
            Self::WrongHook { .. } => "nothing was registered",
            Self::FileNotReviewed(_) => "review it again",
            Self::Ledger(_)
            | Self::UnknownRun(_)
            | Self::RunEnded(_)
            | Self::WrongAnswer(_)
            | Self::UnknownApproval(_)
            | Self::ReachWithNo
            | Self::EditNotObject
            | Self::SecretInArguments
            | Self::GrantWithoutReceiver
            | Self::GrantWithoutResource
            | Self::GrantWithoutTime
            | Self::UnknownGrant(_)
            | Self::GrantRevoked(_)
            | Self::KeyName
            | Self::KeyWithoutScope
            | Self::ScopeBeyondIssuer(_)
            | Self::UnknownKey(_)
            | Self::TooManyTags
            | Self::UnknownIdentity { .. }
            | Self::UnknownHook(_) => return None,
        };
        Some(text.to_owned())
    }
}

fn errors(findings: &[Diagnostic]) -> String {
    let errors = findings.iter().filter(|one| one.severity == Severity::Error);
    errors.map(|one| one.message.as_str()).collect::<Vec<_>>().join("; ")
}
