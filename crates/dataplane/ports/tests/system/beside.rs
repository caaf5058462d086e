//! Frames whose VLAN tag stands beside them, as a VLAN interface makes them: sent by a program of the kernel's virtual
//! machine, because not every kernel has VLAN interfaces.

use std::io;

#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    rest: [u64; 4],
}

#[repr(C)]
#[derive(Default)]
struct ProgramTestRun {
    program: u32,
    result: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    rest: [u32; 9],
}

fn bpf<T>(command: i32, attributes: &T) -> io::Result<i32> {
    // SAFETY: the structures above are the beginnings of the commands' arguments; what they point to is borrowed by the
    // only caller.
    match unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result as i32),
    }
}

fn instruction(opcode: u8, registers: u8, immediate: i32) -> u64 {
    u64::from(opcode) | u64::from(registers) << 8 | u64::from(immediate as u32) << 32
}

/// Sends `frame` by the interface with this number, with a tag beside it.
pub fn send_with_tag(interface_index: i32, frame: &[u8], protocol: u16, control: u16) -> io::Result<()> {
    let (protocol, control) = (i32::from(protocol.to_be()), i32::from(control));
    let instructions = [
        // r6 = frame; bpf_skb_vlan_push(r6, protocol, control)
        instruction(0xbf, 0x16, 0),
        instruction(0xb7, 0x02, protocol),
        instruction(0xb7, 0x03, control),
        instruction(0x85, 0x00, 18),
        // bpf_clone_redirect(r6, interface, 0); return 0
        instruction(0xbf, 0x61, 0),
        instruction(0xb7, 0x02, interface_index),
        instruction(0xb7, 0x03, 0),
        instruction(0x85, 0x00, 13),
        instruction(0xb7, 0x00, 0),
        instruction(0x95, 0x00, 0),
    ];
    let program = bpf(
        5,
        &ProgramLoad {
            program_type: 3,
            instruction_count: instructions.len() as u32,
            instructions: instructions.as_ptr() as u64,
            license: c"GPL".as_ptr() as u64,
            ..ProgramLoad::default()
        },
    )?;
    let sent = bpf(
        10,
        &ProgramTestRun {
            program: program as u32,
            data_size_in: frame.len() as u32,
            data_in: frame.as_ptr() as u64,
            repeat: 1,
            ..ProgramTestRun::default()
        },
    );
    // SAFETY: the descriptor is new and has no other owner.
    unsafe { libc::close(program) };
    sent.map(drop)
}
