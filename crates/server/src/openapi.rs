//! The OpenAPI document, made from the route table.
//!
//! Must never: describe what the route table does not define.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::api_error::ApiErrorBody;
use super::route::{ApiRoute, RequestFormat, ResponseFormat, RouteAccess, RouteHandler};

/// Returns the document of these routes, as OpenAPI 3.1.
pub(super) fn document(routes: &[ApiRoute]) -> Value {
    let mut taken = generator(false);
    let mut given = generator(true);
    let mut paths = Map::new();
    for route in routes {
        let operation = operation(route, &mut taken, &mut given);
        let of = paths.entry(route.path).or_insert_with(|| json!({}));
        of[route.method.as_str()] = operation;
    }
    let refused = given.subschema_for::<ApiErrorBody>().to_value();
    let mut schemas = taken.take_definitions(true);
    schemas.extend(given.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Agentry",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs agents defined as files in git. Times are milliseconds since 1970.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Refused": {
                    "description": "Error response",
                    "content": { "application/json": { "schema": refused } },
                },
            },
            "securitySchemes": {
                "key": { "type": "http", "scheme": "bearer" },
            },
        },
        "security": [{ "key": [] }],
    })
}

/// Returns a generator for response types (all fields required) or request types.
fn generator(is_given: bool) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    if is_given {
        settings.for_serialize().into_generator()
    } else {
        settings.for_deserialize().into_generator()
    }
}

fn operation(route: &ApiRoute, taken: &mut SchemaGenerator, given: &mut SchemaGenerator) -> Value {
    let mut operation = json!({
        "summary": route.words,
        "description": description(route),
        "operationId": name(route),
        "parameters": parameters(route, taken),
        "responses": { "default": { "$ref": "#/components/responses/Refused" } },
    });
    let (status, content) = match &route.answer {
        ResponseFormat::Json(204, _) => (204, None),
        ResponseFormat::Json(status, describe) => {
            let schema = describe(given).to_value();
            (*status, Some(("application/json", json!({ "schema": schema }))))
        }
        ResponseFormat::Other(status, content_type) => (*status, Some((*content_type, json!({})))),
    };
    let mut response = json!({ "description": route.words });
    if let Some((content_type, content)) = content {
        response["content"] = json!({ content_type: content });
    }
    operation["responses"][status.to_string()] = response;
    let body = match route.takes {
        RequestFormat::Empty => None,
        RequestFormat::Json(describe) => Some(("application/json", describe(taken).to_value())),
        RequestFormat::Text => Some(("*/*", json!({ "type": "string" }))),
    };
    if let Some((content_type, schema)) = body {
        operation["requestBody"] = json!({
            "required": true,
            "content": { content_type: { "schema": schema } },
        });
    }
    match route.need {
        RouteAccess::Unauthenticated => operation["security"] = json!([]),
        RouteAccess::Signed => operation["security"] = json!([{}, { "key": [] }]),
        RouteAccess::Owner(_) | RouteAccess::AnyCaller(_) | RouteAccess::AnyKey => {}
    }
    if matches!(route.work, RouteHandler::Stream(_)) {
        operation["x-stream"] = json!(true);
    }
    operation
}

fn description(route: &ApiRoute) -> String {
    let who = who(route.need);
    route.supervision.description().map_or(who.clone(), |words| format!("{who} {words}"))
}

fn who(need: RouteAccess) -> String {
    match need {
        RouteAccess::Owner(scope) => {
            format!("Requires a key of the owner with the scope `{scope}`.")
        }
        RouteAccess::AnyCaller(scope) => {
            format!(
                "Requires a key with the scope `{scope}`; keys of others are limited to their own sessions."
            )
        }
        RouteAccess::AnyKey => "Requires any key.".to_owned(),
        RouteAccess::Signed => {
            "Requires a signed body, or a key with the scope `submit`.".to_owned()
        }
        RouteAccess::Unauthenticated => "Requires no key.".to_owned(),
    }
}

/// Returns the operation id of a route, such as `getApiSessionsId`.
fn name(route: &ApiRoute) -> String {
    let words = route.path.split(|sign: char| !sign.is_ascii_alphanumeric());
    let upper = |word: &str| {
        let mut signs = word.chars();
        let first = signs.next().map(|sign| sign.to_ascii_uppercase());
        first.into_iter().chain(signs).collect::<String>()
    };
    route.method.as_str().to_owned() + &words.map(upper).collect::<String>()
}

fn parameters(route: &ApiRoute, taken: &mut SchemaGenerator) -> Value {
    let parts = route.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({
            "name": name, "in": "path", "required": true,
            "schema": { "type": "string", "minLength": 1 },
        }))
    });
    let mut all: Vec<Value> = parts.collect();
    let described = (route.query)(taken).to_value();
    let schema = resolved(&described, taken);
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|all| all.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        all.push(json!({
            "name": name, "in": "query", "required": required.contains(&name.as_str()),
            "description": schema["description"], "schema": plain(schema),
        }));
    }
    Value::Array(all)
}

/// Returns a schema for a query parameter: an optional one is absent, never null.
fn plain(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("description");
        if let Some(kinds) = fields.get_mut("type").and_then(Value::as_array_mut) {
            kinds.retain(|kind| kind != "null");
        }
        if let Some(first) =
            fields.get("type").and_then(Value::as_array).and_then(|all| all.first().cloned())
        {
            fields.insert("type".to_owned(), first);
        }
        if let Some(any) = fields.get_mut("anyOf").and_then(Value::as_array_mut) {
            any.retain(|one| one["type"] != "null");
        }
    }
    schema
}

fn resolved(schema: &Value, taken: &SchemaGenerator) -> Value {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let found = name.and_then(|name| taken.definitions().get(name));
    found.cloned().unwrap_or_else(|| schema.clone())
}

/// The schema of the OpenAPI document itself: any JSON.
#[derive(serde::Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct OpenApiDocument(pub(super) Value);
