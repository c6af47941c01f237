//! The metadata of an inbound: fields from outside, and the request of our own code for its sender.
//!
//! Ledgers and wires hold both in one JSON object, under the names that they always had. In this
//! program they are apart, so that a foreign body cannot choose a session, a delivery or a run.
//!
//! Must never: turn a field from outside into a part of the request.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::access_terms::Delivery;
use crate::id::TaskId;
use crate::mode::Mode;

/// A part of a request, by its name in the recorded metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestField {
    /// The destination.
    Target,
    /// The delivery to a busy session.
    Delivery,
    /// The options of the run.
    Run,
    /// The mark of a program that speaks for its owner.
    Program,
}

impl RequestField {
    /// All parts of a request.
    pub const ALL: [Self; 4] = [Self::Target, Self::Delivery, Self::Run, Self::Program];

    /// Returns the name in the recorded metadata.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Delivery => "delivery",
            Self::Run => "run",
            Self::Program => "program",
        }
    }

    /// Returns the part that a field of the metadata names; None for all other names.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == name)
    }
}

/// The wishes of a sender, beside the message. The kernel decides which of them count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboundRequest {
    /// The destination; only the owner's counts.
    pub target: Option<RouteTarget>,
    /// The delivery to a busy session.
    pub delivery: Option<Delivery>,
    /// The options of the run that answers; only the owner's count.
    pub run: Option<RunOverrides>,
    /// True if a program of the sender speaks.
    pub is_program: bool,
}

/// A destination that the owner chose, and perhaps the persona that answers there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum RouteTarget {
    /// A session, by its key.
    Session {
        /// The key of the session.
        session: String,
        /// The persona or agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persona: Option<String>,
    },
    /// A new session that continues at a turn.
    Thread {
        /// The id of the turn.
        thread: String,
        /// The persona or agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persona: Option<String>,
    },
    /// The main session of a persona or agent.
    Persona {
        /// The persona or agent.
        persona: String,
    },
}

/// The owner's options for the run that answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOverrides {
    /// The name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The task to run; None runs the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The inputs of the task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
}

impl RunOverrides {
    /// Returns true if no option is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The metadata of an inbound, with the request that it records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboundMetadata {
    // Invariant: the fields that `RequestField` names come from `set_request` or from a record.
    fields: Map<String, Value>,
    // Invariant: equal to those fields, as far as they can be read.
    request: InboundRequest,
}

impl InboundMetadata {
    /// Creates the metadata of a foreign body. Fields that would be a request are left out.
    pub fn from_outside(mut fields: Map<String, Value>) -> Self {
        fields.retain(|name, _| RequestField::named(name).is_none());
        Self { fields, request: InboundRequest::default() }
    }

    /// Reads recorded metadata. Every entry is read here, for all versions that wrote one.
    pub fn from_record(fields: Map<String, Value>) -> Self {
        let request = InboundRequest::read(&fields);
        Self { fields, request }
    }

    /// Sets the request, in the place of an earlier one. Only for our own code, which knows that
    /// the sender may request this.
    pub fn set_request(&mut self, request: InboundRequest) {
        self.fields.retain(|name, _| RequestField::named(name).is_none());
        self.fields.extend(request.recorded());
        self.request = request;
    }

    /// Returns the request of the sender.
    pub fn request(&self) -> &InboundRequest {
        &self.request
    }

    /// Returns the recorded value of a part of the request, which may be unreadable.
    pub fn recorded(&self, field: RequestField) -> Option<&Value> {
        self.fields.get(field.as_str())
    }

    /// Adds a field, in the place of an earlier one; a field that would be a request is left out.
    pub fn insert(&mut self, name: String, value: Value) {
        if RequestField::named(&name).is_none() {
            self.fields.insert(name, value);
        }
    }

    /// Returns the recorded value of a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// Returns true if there are no fields and there is no request.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Changes every value, and reads the request again.
    pub fn change_values(&mut self, change: impl Fn(&mut Value)) {
        self.fields.values_mut().for_each(change);
        self.request = InboundRequest::read(&self.fields);
    }
}

impl Serialize for InboundMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for InboundMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from_record)
    }
}

impl InboundRequest {
    /// Reads the parts of a request; a part that cannot be read is not set.
    fn read(fields: &Map<String, Value>) -> Self {
        let value = |field: RequestField| fields.get(field.as_str());
        let word = value(RequestField::Delivery).and_then(Value::as_str);
        Self {
            target: value(RequestField::Target)
                .and_then(|value| RouteTarget::deserialize(value).ok()),
            delivery: word.and_then(|word| word.parse().ok()),
            run: value(RequestField::Run).and_then(|value| RunOverrides::deserialize(value).ok()),
            is_program: value(RequestField::Program).and_then(Value::as_bool) == Some(true),
        }
    }

    /// Returns the fields of the metadata that record this request.
    fn recorded(&self) -> Vec<(String, Value)> {
        let Self { target, delivery, run, is_program } = self;
        let plain = "a request is plain JSON";
        let parts = [
            (RequestField::Delivery, delivery.map(|delivery| delivery.as_str().into())),
            (
                RequestField::Target,
                target.as_ref().map(|target| serde_json::to_value(target).expect(plain)),
            ),
            (
                RequestField::Run,
                run.as_ref().map(|run| {
                    let mut value = serde_json::to_value(run).expect(plain);
                    // A task is recorded with its inputs, even if there are none.
                    if run.task.is_some() {
                        value["inputs"] = serde_json::to_value(&run.inputs).expect(plain);
                    }
                    value
                }),
            ),
            (RequestField::Program, is_program.then_some(Value::Bool(true))),
        ];
        let set = parts.into_iter().filter_map(|(field, value)| Some((field, value?)));
        set.map(|(field, value)| (field.as_str().to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().expect("the test writes an object").clone()
    }

    fn whole() -> InboundRequest {
        InboundRequest {
            target: Some(RouteTarget::Session {
                session: "main".to_owned(),
                persona: Some("atlas".to_owned()),
            }),
            delivery: Some(Delivery::Interrupt),
            run: Some(RunOverrides {
                model: Some("m".to_owned()),
                mode: Some(Mode::Autonomous),
                task: Some(TaskId::new("tidy")),
                inputs: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
            }),
            is_program: true,
        }
    }

    #[test]
    fn a_request_is_recorded_under_the_names_of_older_entries() {
        let mut metadata = InboundMetadata::from_outside(map(json!({ "kind": "paid" })));
        metadata.set_request(whole());
        let recorded = json!({
            "kind": "paid",
            "delivery": "interrupt",
            "target": { "session": "main", "persona": "atlas" },
            "run": { "model": "m", "mode": "wiggum", "task": "tidy", "inputs": { "a": "b" } },
            "program": true,
        });
        assert_eq!(serde_json::to_value(&metadata).unwrap(), recorded);
        assert_eq!(serde_json::from_value::<InboundMetadata>(recorded).unwrap(), metadata);
        metadata.set_request(InboundRequest::default());
        assert_eq!(serde_json::to_value(&metadata).unwrap(), json!({ "kind": "paid" }));
    }

    #[test]
    fn a_task_is_recorded_with_its_inputs_even_if_there_are_none() {
        let mut metadata = InboundMetadata::default();
        let run = RunOverrides { task: Some(TaskId::new("tidy")), ..RunOverrides::default() };
        metadata.set_request(InboundRequest { run: Some(run), ..InboundRequest::default() });
        let recorded = json!({ "run": { "task": "tidy", "inputs": {} } });
        assert_eq!(serde_json::to_value(&metadata).unwrap(), recorded);
    }

    #[test]
    fn no_field_from_outside_is_a_request() {
        let values = [
            json!(true),
            json!("interrupt"),
            json!({ "session": "main" }),
            json!({ "persona": "atlas" }),
            json!({ "mode": "wiggum", "model": "m" }),
        ];
        for field in RequestField::ALL {
            for value in &values {
                let outside = Map::from_iter([
                    (field.as_str().to_owned(), value.clone()),
                    ("kind".to_owned(), json!("paid")),
                ]);
                let mut metadata = InboundMetadata::from_outside(outside);
                metadata.insert(field.as_str().to_owned(), value.clone());
                assert_eq!(metadata.request(), &InboundRequest::default(), "{field:?} {value}");
                // After a way through the ledger it still is none.
                let written = serde_json::to_value(&metadata).unwrap();
                assert_eq!(written, json!({ "kind": "paid" }), "{field:?} {value}");
            }
        }
    }

    #[test]
    fn unreadable_records_stay_as_they_are() {
        let recorded = json!({
            "target": { "session": "a", "thread": "b" },
            "delivery": "later",
            "run": { "speed": 9 },
            "program": 1,
            "x": null,
        });
        let metadata = InboundMetadata::from_record(map(recorded.clone()));
        assert_eq!(metadata.request(), &InboundRequest::default());
        assert_eq!(metadata.recorded(RequestField::Delivery), Some(&json!("later")));
        assert_eq!(serde_json::to_value(&metadata).unwrap(), recorded);
    }

    #[test]
    fn a_changed_value_changes_the_request() {
        let mut metadata = InboundMetadata::default();
        metadata.set_request(whole());
        metadata.change_values(|value| {
            if let Some(model) = value.get_mut("model") {
                *model = json!("[hidden]");
            }
        });
        let run = metadata.request().run.as_ref().expect("it has options");
        assert_eq!(run.model.as_deref(), Some("[hidden]"));
        assert_eq!(run.inputs, whole().run.unwrap().inputs);
    }
}
