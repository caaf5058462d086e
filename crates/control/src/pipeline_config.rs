//! Pushing programs, asking for them, and what the switch can do (P4Runtime §14, §15, §17).

use crate::device::{Device, Now};
use crate::forwarding::Forwarding;
use crate::reconcile;
use crate::status::Error;
use forebay_protocol::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, SetForwardingPipelineConfigRequest,
};
use forebay_protocol::p4info;

/// The version of the protocol that is spoken.
const API_VERSION: &str = "1.5.0";

impl Device {
    /// Checks, saves or runs a program.
    ///
    /// # Errors
    /// See P4Runtime §14. Nothing has changed then.
    pub fn set_pipeline_config(&mut self, request: &SetForwardingPipelineConfigRequest, now: Now) -> Result<(), Error> {
        let role = self
            .arbitration
            .primary_role(request.device_id, &request.role, request.election_id)?;
        role.check_push()?;
        self.change_program(request.action(), request.config.as_ref(), now)?;
        if request.action() != Action::Verify {
            self.keep_all();
        }
        Ok(())
    }

    fn change_program(
        &mut self,
        action: Action,
        config: Option<&ForwardingPipelineConfig>,
        now: Now,
    ) -> Result<(), Error> {
        match action {
            Action::Unspecified => Err(Error::invalid(
                "say what to do with the program: VERIFY, VERIFY_AND_COMMIT, …",
            )),
            Action::Verify => self.load(config).map(drop),
            Action::VerifyAndSave => {
                self.saved = Some(self.load(config)?);
                Ok(())
            }
            Action::VerifyAndCommit => {
                let forwarding = self.load(config)?;
                self.saved = None;
                self.run(forwarding);
                Ok(())
            }
            Action::Commit if config.is_some() => Err(Error::invalid("COMMIT runs what was saved: leave out config")),
            Action::Commit => {
                let saved = self.saved.take();
                let saved = saved.ok_or_else(|| Error::not_found("nothing was saved: VERIFY_AND_SAVE comes first"))?;
                self.run(saved);
                Ok(())
            }
            Action::ReconcileAndCommit => {
                let mut forwarding = self.load(config)?;
                if let Some(running) = &self.running {
                    reconcile::carry_over(running, &mut forwarding, self.ports(), now.switch_ns)?;
                }
                self.saved = None;
                self.run(forwarding);
                Ok(())
            }
        }
    }

    fn load(&self, config: Option<&ForwardingPipelineConfig>) -> Result<Forwarding, Error> {
        let config = config.ok_or_else(|| Error::invalid("there is no config"))?;
        Forwarding::load(config, self.settings.options)
    }

    /// The program, as it was pushed, or parts of it.
    ///
    /// # Errors
    /// `NOT_FOUND` for another device.
    pub fn pipeline_config(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Error> {
        self.arbitration.check_device(request.device_id)?;
        let Some(forwarding) = self.current() else {
            return Ok(GetForwardingPipelineConfigResponse { config: None });
        };
        let config = &forwarding.config;
        let wanted = request.response_type();
        let version = self.settings.p4info_version;
        let p4info = || config.p4info.clone().map(|info| p4info::for_version(info, version));
        let blob = || config.p4_device_config.clone();
        Ok(GetForwardingPipelineConfigResponse {
            config: Some(ForwardingPipelineConfig {
                p4info: matches!(wanted, ResponseType::All | ResponseType::P4infoAndCookie)
                    .then(p4info)
                    .flatten(),
                p4_device_config: match wanted {
                    ResponseType::All | ResponseType::DeviceConfigAndCookie => blob(),
                    ResponseType::CookieOnly | ResponseType::P4infoAndCookie => Vec::new(),
                },
                cookie: config.cookie,
            }),
        })
    }

    /// What the switch speaks.
    ///
    /// # Errors
    /// `NOT_FOUND` for another device.
    pub fn capabilities(&self, request: CapabilitiesRequest) -> Result<CapabilitiesResponse, Error> {
        if request.device_id != 0 {
            self.arbitration.check_device(request.device_id)?;
        }
        Ok(CapabilitiesResponse {
            p4runtime_api_version: API_VERSION.to_string(),
            experimental: None,
        })
    }
}
