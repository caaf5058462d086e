//! What the author states about the program as a whole: annotations of `main`.

use super::{Context, annotation};
use forebay_check::annotations::{self, Value};
use forebay_p4info::model::{PkgInfo, PlatformProperties};
use forebay_syntax::ast::Annotation;
use num_traits::ToPrimitive;

/// The message about the program; `None` without `main`.
pub fn pkg_info(cx: &Context) -> Option<PkgInfo> {
    let main = &cx.program.instances[cx.program.main?.index()];
    let mut info = PkgInfo {
        arch: cx.architecture.name.to_string(),
        ..PkgInfo::default()
    };
    for (key, value) in pairs(&main.annotations, "pkginfo") {
        if let (Some(field), Value::String(text)) = (text_field(&mut info, &key), value) {
            *field = text;
        }
    }
    let has_properties = annotations::has(&main.annotations, "platform_property");
    let properties = pairs(&main.annotations, "platform_property");
    info.platform_properties = has_properties.then(|| platform_properties(properties));
    let but = ["pkginfo", "platform_property"];
    (info.annotations, info.structured_annotations) = annotation::written(&main.annotations, &but);
    info.doc = annotation::documentation(&main.annotations);
    Some(info)
}

/// The pairs of all annotations with a name.
fn pairs(annotations: &[Annotation], name: &str) -> Vec<(String, Value)> {
    let named = annotations.iter().filter(|annotation| annotation.name.name == name);
    let pairs = named.flat_map(annotations::key_values);
    pairs.map(|(key, value)| (key.to_string(), value)).collect()
}

fn text_field<'a>(info: &'a mut PkgInfo, key: &str) -> Option<&'a mut String> {
    match key {
        "name" => Some(&mut info.name),
        "version" => Some(&mut info.version),
        "arch" => Some(&mut info.arch),
        "organization" => Some(&mut info.organization),
        "contact" => Some(&mut info.contact),
        "url" => Some(&mut info.url),
        _ => None,
    }
}

fn platform_properties(written: Vec<(String, Value)>) -> PlatformProperties {
    let mut properties = PlatformProperties::default();
    for (key, value) in written {
        let Value::Int(number) = value else { continue };
        let number = number.to_i32().unwrap_or(0);
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
