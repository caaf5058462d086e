"""Programs: compiled from files and texts, in all formats, and what they declare."""

import gc
import pickle
import resource
import warnings
import weakref
from pathlib import Path

import pytest

import forebay
from forebay import CompileError, FileError, ProgramWarning, compile, examples

ROUTER = Path(examples.path("router.p4"))


def test_what_a_program_declares() -> None:
    program = compile(ROUTER)
    assert program.architecture == "v1model"
    table = program.tables["Routing.ipv4_lpm"]
    assert [(key.name, key.width, key.match_kind) for key in table.keys] == [("hdr.ipv4.dst_addr", 32, "lpm")]
    assert [action.name for action in table.actions] == ["Routing.forward", "Routing.drop"]
    assert [(it.name, it.width) for it in table.actions[0].parameters] == [("port", 9), ("mac", 48)]
    assert program.registers["Routing.seen"].width == 32
    assert program.counters["Routing.arrived"].unit == "packets and bytes"
    assert program.meters["Routing.police"].size == 512
    assert program.headers["hdr.ipv4"].width == 160
    assert program.p4info is not None and "Routing.ipv4_lpm" in program.p4info
    assert program.ir.startswith("program v1model")
    assert program.warnings == "" and program.diagnostics == []


def test_what_the_compiler_warns_of_is_a_warning_of_python() -> None:
    text = ROUTER.read_text().replace("standard_metadata.egress_spec = port", "standard_metadata.egress_port = port")
    with pytest.warns(ProgramWarning, match=r"W0802.*\n.* router\.p4:63"):
        program = compile(text, name="router.p4")
    assert "W0802" in program.warnings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(ROUTER)


def test_several_threads_may_ask_for_tables_first() -> None:
    program = compile(examples.path("router.p4"))
    # Since Python 3.12 a cached property has no lock: each thread that finds no value computes it.
    computed = type(program).__dict__["tables"].func
    assert computed(program) == computed(program) == program.tables


def test_texts_and_the_programs_own_ir_compile() -> None:
    program = compile(ROUTER.read_text(), name="inline.p4")
    again = compile(program.ir)
    assert again.ir == program.ir
    assert again.p4info is None


def test_macros_and_folders(tmp_path: Path) -> None:
    (tmp_path / "size.p4").write_text("#define SIZE N\n")
    text = '#include "size.p4"\n' + ROUTER.read_text().replace("size = 1024", "size = SIZE")
    for define in ({"N": 64}, ["N=64"]):
        program = compile(text, include=[tmp_path], define=define)
        assert program.tables["Routing.ipv4_lpm"].size == 64


def test_a_mistake_has_text_and_diagnostics(tmp_path: Path) -> None:
    file = tmp_path / "wrong.p4"
    file.write_text("control c() {\n    apply { counter_valeu = 1; }\n}\n")
    with pytest.raises(CompileError) as caught:
        compile(file)
    assert f"{file}:2:13" in str(caught.value)
    assert caught.value.diagnostics[0]["code"] == "E0201"
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.diagnostics == caught.value.diagnostics


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*missing\.p4: No such file"):
        compile(tmp_path / "missing.p4")
    with pytest.raises(OSError, match="is a folder; name the program in it"):
        compile(tmp_path)
    (tmp_path / "binary.p4").write_bytes(b"\0" * 100)
    with pytest.raises(FileError, match="is a binary file"):
        compile(tmp_path / "binary.p4")


def test_every_exception_is_documented() -> None:
    names = [name for name in forebay.__all__ if name.endswith("Error")]
    assert len(names) == 10
    for name in names:
        assert issubclass(getattr(forebay, name), forebay.ForebayError)
        assert getattr(forebay, name).__doc__


def test_memory_stays_as_it_is_over_many_programs() -> None:
    text = ROUTER.read_text()

    def peak_kilobytes() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def load(count: int) -> None:
        for _ in range(count):
            forebay.Switch(compile(text), ports=1).send(bytes(64))

    load(40)
    before = peak_kilobytes()
    load(160)
    assert peak_kilobytes() - before < 20_000


def test_a_program_goes_with_its_packets() -> None:
    """A program that has read a packet is in no cycle, for which it would wait until the garbage collector runs."""
    program = compile(ROUTER)
    program.packets.parse(bytes(64))
    gone = weakref.ref(program)
    gc.disable()
    try:
        del program
        assert gone() is None
    finally:
        gc.enable()
