"""The plugin of pytest, in a pytest of its own; and what tests of programs need."""

import subprocess
import sys
from pathlib import Path

import pytest

from forebay import CompileError, StfError, examples
from forebay.testing import StfTest, stf_tests

TESTS = """
import pytest
P4_PROGRAM = "router.p4"
ROUTE = "add ipv4_lpm dst_addr:0x0a000000/8 forward(port:2, mac:1)"

def test_module_names_the_program(switch, assert_output):
    assert_output(switch, bytes(64), {})

@pytest.mark.p4("router.p4", ports=4, entries="entries.stf")
def test_mark_names_program_and_entries(switch, p4_program, assert_output):
    packet = p4_program.packets.build(ethernet={"ether_type": 0x800}, ipv4={"ttl": 9, "dst_addr": "10.0.0.1"})
    [left] = assert_output(switch, packet, {2: None})
    assert p4_program.packets.parse(left.data).ipv4.ttl == 8

@pytest.mark.p4("router.p4", entries="entries.stf")
def test_that_fails(switch, assert_output):
    packet = switch.program.packets.build(ethernet={"ether_type": 0x800}, ipv4={"ttl": 9, "dst_addr": "10.0.0.1"})
    assert_output(switch, packet, {2: packet})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("router.p4", "reflector.p4"):
        (tmp_path / name).write_text(Path(examples.path(name)).read_text())
    (tmp_path / "test_router.py").write_text(TESTS)
    (tmp_path / "entries.stf").write_text("add ipv4_lpm dst_addr:0x0a000000/8 forward(port:2, mac:1)\n")
    (tmp_path / "reflector.stf").write_text("# forebay: -D UNUSED=1\npacket 1 0102\nexpect 1 0102$\n")
    (tmp_path / "router.stf").write_text("packet 1 0102\nexpect 1 0102\n")
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


def test_fixtures(folder: Path) -> None:
    output = run(folder)
    assert "2 passed" in output and "1 failed" in output, output
    assert "port 2, packet 1 differs:" in output
    assert "hdr.ipv4.ttl: 0x09 and 0x08" in output
    assert "packet 1 enters port 0" in output
    assert "wanted = _by_port" not in output


def test_a_mark_with_an_unknown_option_is_an_error(folder: Path) -> None:
    (folder / "test_router.py").write_text(
        'import pytest\n@pytest.mark.p4("router.p4", entrys="entries.stf")\ndef test_it(switch): pass\n'
    )
    output = run(folder)
    assert "1 error" in output and "the mark p4 has no option 'entrys'; there are define" in output, output


def test_folders_of_a_mark_are_beside_the_test(folder: Path) -> None:
    headers = folder / "headers"
    headers.mkdir()
    (headers / "size.p4").write_text("#define SIZE 4\n")
    program = (folder / "reflector.p4").read_text()
    (folder / "reflector.p4").write_text('#include "size.p4"\n' + program)
    marks = ('include="headers"', 'include=["headers"]', f"include=[{str(headers)!r}]")
    tests = [
        f'@pytest.mark.p4("reflector.p4", {mark})\ndef test_{number}(switch): pass\n'
        for number, mark in enumerate(marks)
    ]
    (folder / "test_router.py").write_text("import pytest\n" + "".join(tests))
    output = run(folder.parent, str(folder))
    assert "3 passed" in output, output


def test_stf_files_are_tests_when_asked_for(folder: Path) -> None:
    output = run(folder, "--stf", "--ignore=test_router.py")
    assert "1 passed" in output and "1 failed" in output, output
    assert "PASSED reflector.stf" in output and "FAILED router.stf" in output, output
    assert "router.stf:2: " in output and "entries.stf" not in output, output
    assert "no tests ran" in run(folder, "--ignore=test_router.py")


def test_stf_tests_of_a_folder(folder: Path) -> None:
    tests = stf_tests(folder)
    assert [str(test) for test in tests] == ["reflector", "router"]
    assert [test.run().passed for test in tests] == [True, False]


def test_options_of_a_test_are_those_of_the_command(folder: Path) -> None:
    program = (folder / "reflector.p4").read_text()
    (folder / "reflector.p4").write_text("#ifdef WRONG\n#error wrong\n#endif\n" + program)
    test = StfTest(folder / "reflector.stf", folder / "reflector.p4")
    for comment in ("# forebay: -D WRONG", "#forebay:-DWRONG", "  #   forebay: -D A=1 -D WRONG"):
        test.path.write_text(f"{comment}\npacket 1 0102\nexpect 1 0102$\n")
        with pytest.raises(CompileError, match="wrong"):
            test.run()
    for options in ("-X", "-D", "WRONG", "--wrong"):
        test.path.write_text(f"# about\n# forebay: {options}\n")
        with pytest.raises(StfError, match=rf"reflector.stf:2: .* no options of the compilation: '{options}'"):
            test.run()


@pytest.mark.parametrize("name", ["l3fwd", "iot_aggregate", "portfwd"])
def test_the_repositorys_programs(name: str) -> None:
    programs = Path(__file__).parents[2] / "programs"
    if not programs.is_dir():
        pytest.skip("not in a checkout of the repository")
    tests = stf_tests(programs / name)
    assert tests
    for test in tests:
        assert test.run().failures == [], test.path
