//! P4Info for controllers that know an older version of P4Runtime: readers of the text form refuse fields that they do
//! not know.

use crate::model::{MeterType, P4Info};
use std::fmt;
use std::str::FromStr;

/// A version of P4Runtime whose fields a P4Info may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// 1.3, of 2020.
    V1_3,
    /// 1.5: everything.
    #[default]
    V1_5,
}

/// Why a text is no [`Version`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionError(String);

impl fmt::Display for VersionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a P4Info is of version 1.3 or 1.5, not `{}`", self.0)
    }
}

impl std::error::Error for VersionError {}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Version, VersionError> {
        match text {
            "1.3" => Ok(Version::V1_3),
            "1.5" => Ok(Version::V1_5),
            _ => Err(VersionError(text.to_string())),
        }
    }
}

impl P4Info {
    /// Leaves out what is newer than a version.
    pub fn for_version(mut self, version: Version) -> P4Info {
        if version == Version::V1_5 {
            return self;
        }
        if let Some(package) = &mut self.pkg_info {
            package.platform_properties = None;
        }
        for table in &mut self.tables {
            table.initial_default_action = None;
            table.has_initial_entries = false;
        }
        for profile in &mut self.action_profiles {
            profile.selector_size_semantics = None;
            profile.weights_disallowed = false;
        }
        let specs = self.meters.iter_mut().map(|meter| &mut meter.spec);
        let direct = self.direct_meters.iter_mut().map(|meter| &mut meter.spec);
        specs
            .chain(direct)
            .for_each(|spec| spec.meter_type = MeterType::default());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ActionProfile, PkgInfo, SelectorSizeSemantics, SumOfMembers, Table, TableActionCall};

    #[test]
    fn what_is_newer_is_left_out() {
        let new = P4Info {
            pkg_info: Some(PkgInfo {
                arch: "v1model".to_string(),
                platform_properties: Some(Default::default()),
                ..PkgInfo::default()
            }),
            tables: vec![Table {
                size: 7,
                initial_default_action: Some(TableActionCall::default()),
                has_initial_entries: true,
                ..Table::default()
            }],
            action_profiles: vec![ActionProfile {
                with_selector: true,
                weights_disallowed: true,
                selector_size_semantics: Some(SelectorSizeSemantics::SumOfMembers(SumOfMembers::default())),
                ..ActionProfile::default()
            }],
            ..P4Info::default()
        };
        assert_eq!(new.clone().for_version(Version::V1_5), new);
        let old = crate::write(&new.for_version("1.3".parse().unwrap()));
        for left_out in ["platform", "initial", "weights", "sum_of"] {
            assert!(!old.contains(left_out), "{old}");
        }
        assert!(old.contains("size: 7") && old.contains("with_selector"), "{old}");
        assert!("1.2".parse::<Version>().is_err());
    }
}
