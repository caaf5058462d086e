//! Pushing programs, asking for them, and what the switch can do (P4Runtime §14, §15, §17).

use crate::device::{Device, Now};
use crate::forwarding::Forwarding;
use crate::reconcile;
use crate::status::Error;
use forebay_pipeline::Options;
use forebay_protocol::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, SetForwardingPipelineConfigRequest,
};
use forebay_protocol::p4info;
use std::sync::Arc;

/// The version of the protocol that is spoken.
const API_VERSION: &str = "1.5.0";

/// A program that was compiled and loaded, with tables as it begins with them.
#[derive(Debug)]
pub struct NewProgram(Forwarding);

impl NewProgram {
    /// Compiles and loads the program of a request. This may take long, and needs no device, so that others can be
    /// served meanwhile, and it ends when the budget of the thread does (`forebay-budget`).
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when it cannot be realised, with the reason.
    pub fn load(request: &SetForwardingPipelineConfigRequest, options: Options) -> Result<NewProgram, Error> {
        let config = request
            .config
            .as_ref()
            .ok_or_else(|| Error::invalid("there is no config"))?;
        Forwarding::load(config, options).map(NewProgram)
    }

    /// Does the same with a program of which there is no P4Info; it is derived.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when it cannot be realised, with the reason.
    pub fn of_blob(blob: Vec<u8>, options: Options) -> Result<NewProgram, Error> {
        Forwarding::of_blob(blob, options).map(NewProgram)
    }
}

/// The bytes of a program (`p4_device_config`), which the switch and all answers share.
#[derive(Clone, Debug)]
pub struct PushedProgram(Arc<ForwardingPipelineConfig>);

impl AsRef<[u8]> for PushedProgram {
    fn as_ref(&self) -> &[u8] {
        &self.0.p4_device_config
    }
}

impl Device {
    /// Checks, saves or runs a program, all in one call.
    ///
    /// # Errors
    /// See P4Runtime §14. Nothing has changed then.
    pub fn set_pipeline_config(&mut self, request: &SetForwardingPipelineConfigRequest, now: Now) -> Result<(), Error> {
        let options = self.begin_push(request)?;
        let program = options.map(|options| NewProgram::load(request, options)).transpose()?;
        self.finish_push(request, program, now)
    }

    /// The first step of a push: whether the sender may do it, and whether the request makes sense. Gives how the
    /// program is to be [loaded](NewProgram::load) before [`Device::finish_push`]; nothing when none is needed.
    ///
    /// # Errors
    /// See P4Runtime §14.
    pub fn begin_push(&self, request: &SetForwardingPipelineConfigRequest) -> Result<Option<Options>, Error> {
        self.check_pusher(request)?;
        match (request.action(), &request.config) {
            (Action::Unspecified, _) => Err(Error::invalid(
                "say what to do with the program: VERIFY, VERIFY_AND_COMMIT, …",
            )),
            (Action::Commit, Some(_)) => Err(Error::invalid("COMMIT runs what was saved: leave out config")),
            (Action::Commit, None) => Ok(None),
            (_, None) => Err(Error::invalid("there is no config")),
            (_, Some(_)) => Ok(Some(self.settings.options)),
        }
    }

    /// The last step of a push, after [`Device::begin_push`]: saves or runs the program. Much may have happened since
    /// the first, so that it is asked anew whether the sender may do it.
    ///
    /// # Errors
    /// See P4Runtime §14. Nothing has changed then.
    pub fn finish_push(
        &mut self,
        request: &SetForwardingPipelineConfigRequest,
        program: Option<NewProgram>,
        now: Now,
    ) -> Result<(), Error> {
        self.check_pusher(request)?;
        self.change_program(request.action(), program.map(|program| program.0), now)?;
        if request.action() != Action::Verify {
            self.keep_all();
        }
        Ok(())
    }

    /// The first step of saving a program for an operator within the process, to whom arbitration does not apply.
    /// Returns how it is to be [loaded](NewProgram::of_blob) before [`Device::save_locally`].
    ///
    /// # Errors
    /// `ALREADY_EXISTS` while another one waits to be committed.
    pub fn begin_local_push(&self) -> Result<Options, Error> {
        match self.saved {
            Some(_) => Err(Error::already_exists(
                "another program was saved, and waits to be committed",
            )),
            None => Ok(self.settings.options),
        }
    }

    /// Saves a program. Reads and writes are about it from now on; packets go through it after
    /// [`Device::commit_locally`].
    ///
    /// # Errors
    /// As of [`Device::begin_local_push`].
    pub fn save_locally(&mut self, program: NewProgram) -> Result<(), Error> {
        if let Err(error) = self.begin_local_push() {
            self.retire(program.0);
            return Err(error);
        }
        self.save(Some(program.0));
        self.keep_all();
        Ok(())
    }

    /// Runs the program that was saved.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none.
    pub fn commit_locally(&mut self, now: Now) -> Result<(), Error> {
        self.change_program(Action::Commit, None, now)?;
        self.keep_all();
        Ok(())
    }

    fn check_pusher(&self, request: &SetForwardingPipelineConfigRequest) -> Result<(), Error> {
        let role = self
            .arbitration
            .primary_role(request.device_id, &request.role, request.election_id)?;
        role.check_push()
    }

    fn change_program(&mut self, action: Action, loaded: Option<Forwarding>, now: Now) -> Result<(), Error> {
        match (action, loaded) {
            (Action::Verify, Some(forwarding)) => self.retire(forwarding),
            (Action::VerifyAndSave, Some(forwarding)) => self.save(Some(forwarding)),
            (Action::VerifyAndCommit, Some(forwarding)) => {
                self.save(None);
                self.run(forwarding);
            }
            (Action::ReconcileAndCommit, Some(mut forwarding)) => {
                if let Some(running) = &self.running {
                    reconcile::carry_over(running, &mut forwarding, self.ports(), now.switch_ns)?;
                }
                self.save(None);
                self.run(forwarding);
            }
            (Action::Commit, None) => {
                let saved = self.saved.take();
                let saved = saved.ok_or_else(|| Error::not_found("nothing was saved: VERIFY_AND_SAVE comes first"))?;
                self.run(saved);
            }
            (action, _) => return Err(Error::internal(format!("{} without its program", action.as_str_name()))),
        }
        Ok(())
    }

    /// Puts a program beside the running one, or nothing.
    fn save(&mut self, forwarding: Option<Forwarding>) {
        if let Some(old) = std::mem::replace(&mut self.saved, forwarding) {
            self.retire(old);
        }
    }

    /// The program, as it was pushed, or parts of it.
    ///
    /// # Errors
    /// `NOT_FOUND` for another device; `INVALID_ARGUMENT` for parts that there are not; `FAILED_PRECONDITION` without a
    /// program, where BMv2 says so.
    pub fn pipeline_config(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Error> {
        let (mut response, program) = self.pipeline_config_parts(request)?;
        if let (Some(config), Some(program)) = (&mut response.config, program) {
            config.p4_device_config = program.as_ref().to_vec();
        }
        Ok(response)
    }

    /// The same without a copy of `p4_device_config`, which stands beside the response, if it was requested.
    ///
    /// # Errors
    /// As of [`Device::pipeline_config`].
    pub fn pipeline_config_parts(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<(GetForwardingPipelineConfigResponse, Option<PushedProgram>), Error> {
        self.arbitration.check_device(request.device_id)?;
        let wanted = ResponseType::try_from(request.response_type)
            .map_err(|_| Error::invalid(format!("there is no response type {}", request.response_type)))?;
        let Some(forwarding) = self.current() else {
            if self.settings.is_bmv2 {
                // Clients know this sentence of BMv2's.
                return Err(Error::precondition("No forwarding pipeline config set for this device"));
            }
            return Ok((GetForwardingPipelineConfigResponse { config: None }, None));
        };
        let config = &forwarding.config;
        let version = self.settings.p4info_version;
        let p4info = || config.p4info.clone().map(|info| p4info::for_version(info, version));
        let has_p4info = matches!(wanted, ResponseType::All | ResponseType::P4infoAndCookie);
        let has_program = matches!(wanted, ResponseType::All | ResponseType::DeviceConfigAndCookie);
        let response = GetForwardingPipelineConfigResponse {
            config: Some(ForwardingPipelineConfig {
                p4info: has_p4info.then(p4info).flatten(),
                p4_device_config: Vec::new(),
                cookie: config.cookie,
            }),
        };
        Ok((response, has_program.then(|| PushedProgram(Arc::clone(config)))))
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
