//! The service described for programs: OpenAPI 3.1.

use crate::API_VERSION;
use serde_json::{Value, json};

/// The document.
pub fn document() -> Value {
    let warnings =
        json!({ "type": "object", "properties": { "warnings": { "type": "array", "items": { "type": "string" } } } });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Forebay tester",
            "version": "1.0.0",
            "description": format!(
                "A subset of the Open Traffic Generator API {API_VERSION}; schemas of requests are those of its models. \
                 What is not supported is refused with status 400 and the path of the field."
            ),
        },
        "paths": {
            "/config": {
                "post": operation("setConfig", "Ports, devices, flows and captures take the place of the present ones", Some("Config"), &warnings),
                "patch": operation("updateConfig", "Flows send at other rates from now on", Some("Config.Update"), &warnings),
                "get": operation("getConfig", "The present configuration", None, &json!({ "type": "object" })),
            },
            "/config/append": {
                "patch": operation("appendConfig", "Flows are added; all flows are stopped", Some("Config.Append"), &warnings),
            },
            "/config/delete": {
                "patch": operation("deleteConfig", "Flows are removed; all flows are stopped", Some("Config.Delete"), &warnings),
            },
            "/control/state": {
                "post": operation("setControlState", "Start, stop, pause or resume flows; start or stop captures, and devices", Some("Control.State"), &warnings),
            },
            "/control/action": {
                "post": operation("setControlAction", "Devices ping hosts", Some("Control.Action"), &json!({ "type": "object" })),
            },
            "/monitor/metrics": {
                "post": operation("getMetrics", "Counters of flows or of ports", Some("Metrics.Request"), &json!({ "type": "object" })),
            },
            "/monitor/states": {
                "post": operation("getStates", "The MAC addresses that devices have found for their gateways", Some("States.Request"), &json!({ "type": "object" })),
            },
            "/monitor/capture": {
                "post": {
                    "operationId": "getCapture",
                    "summary": "What a port has received",
                    "requestBody": body("Capture.Request"),
                    "responses": {
                        "200": { "description": "pcapng or pcap", "content": { "application/octet-stream": {} } },
                        "400": refusal(),
                    },
                },
            },
            "/capabilities/version": {
                "get": operation("getVersion", "The version of the API and of Forebay", None, &json!({ "type": "object" })),
            },
            "/forebay/v1/flows": {
                "get": operation("getFlows", "Distributions of latency and inter-arrival times of each flow, and the self test of their last start", None, &json!({
                    "type": "object",
                    "required": ["format", "flows"],
                    "properties": {
                        "format": { "const": "forebay-tester-flows/1" },
                        "flows": { "type": "array" },
                        "self_test": { "type": ["object", "null"] },
                    },
                })),
            },
        },
        "components": {
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["code", "errors"],
                    "properties": {
                        "code": { "type": "integer" },
                        "kind": { "enum": ["validation", "internal"] },
                        "errors": { "type": "array", "items": { "type": "string" } },
                    },
                },
            },
        },
    })
}

fn operation(id: &str, summary: &str, request: Option<&str>, answer: &Value) -> Value {
    let mut operation = json!({
        "operationId": id,
        "summary": summary,
        "responses": {
            "200": { "description": "done", "content": { "application/json": { "schema": answer } } },
            "400": refusal(),
        },
    });
    if let Some(model) = request {
        operation["requestBody"] = body(model);
    }
    operation
}

fn body(model: &str) -> Value {
    let schema = json!({ "type": "object", "description": format!("{model} of the Open Traffic Generator models") });
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}

fn refusal() -> Value {
    json!({
        "description": "what is wrong, with the path of its field",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
    })
}
