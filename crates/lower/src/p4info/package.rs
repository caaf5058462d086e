//! `pkg_info`: the architecture, and what `@pkginfo` and `@platform_property` on `main` say.

use super::annotations as written;
use crate::architecture;
use crate::context::Context;
use forebay_check::annotations::{self, Value};
use forebay_p4info::model::{PkgInfo, PlatformProperties};
use forebay_syntax::ast::{Annotation, AnnotationBody};
use num_traits::ToPrimitive;

/// Describes `main`.
pub fn describe(cx: &Context) -> Option<PkgInfo> {
    let (_, main) = architecture::main_package(cx.hir)?;
    let annotations = &cx.hir.instances[main.index()].annotations;
    let mut info = PkgInfo {
        arch: "v1model".to_string(),
        annotations: written::texts(annotations, &["pkginfo", "platform_property"]),
        structured_annotations: written::structured(&others(annotations)),
        doc: written::documentation(annotations),
        ..PkgInfo::default()
    };
    if let Some(annotation) = annotations::find(annotations, "pkginfo") {
        for (key, value) in pairs(annotation) {
            set_text(&mut info, &key, value);
        }
    }
    if let Some(annotation) = annotations::find(annotations, "platform_property") {
        info.platform_properties = Some(platform_properties(annotation));
    }
    Some(info)
}

fn others(annotations: &[Annotation]) -> Vec<Annotation> {
    let represented = ["pkginfo", "platform_property"];
    annotations
        .iter()
        .filter(|annotation| !represented.contains(&annotation.name.name.as_str()))
        .cloned()
        .collect()
}

/// `@foo[key = value, ...]`, or the older `@foo(key = value, ...)`.
fn pairs(annotation: &Annotation) -> Vec<(String, Value)> {
    let AnnotationBody::Unstructured(tokens) = &annotation.body else {
        return annotations::key_values(annotation)
            .into_iter()
            .map(|(key, value)| (key.to_string(), value))
            .collect();
    };
    let values = annotations::values(annotation).into_iter();
    let keys = tokens
        .windows(2)
        .filter(|pair| pair[1].text == "=")
        .map(|pair| pair[0].text.clone());
    keys.zip(values).collect()
}

fn set_text(info: &mut PkgInfo, key: &str, value: Value) {
    let Value::String(text) = value else { return };
    match key {
        "name" => info.name = text,
        "version" => info.version = text,
        "organization" => info.organization = text,
        "contact" => info.contact = text,
        "url" => info.url = text,
        "arch" => info.arch = text,
        _ => {}
    }
}

fn platform_properties(annotation: &Annotation) -> PlatformProperties {
    let mut properties = PlatformProperties::default();
    for (key, value) in pairs(annotation) {
        let Value::Int(number) = value else { continue };
        let number = number.to_i32().unwrap_or(i32::MAX);
        match key.as_str() {
            "multicast_group_table_size" => properties.multicast_group_table_size = number,
            "multicast_group_table_total_replicas" => properties.multicast_group_table_total_replicas = number,
            "multicast_group_table_max_replicas_per_entry" => {
                properties.multicast_group_table_max_replicas_per_entry = number;
            }
            _ => {}
        }
    }
    properties
}
