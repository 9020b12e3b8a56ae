"""Files are whole or not there, whatever is written to and whoever is killed."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from l2s_plugin import files
from l2s_plugin.errors import L2SError


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "there").mkdir()
    link, file = tmp_path / "link", tmp_path / "there" / "file"
    link.symlink_to("there/file")  # to a file that is still to be made
    for text in ("one", "two"):
        files.check_writable(link)
        files.write_text(link, text)
        assert link.is_symlink()
        assert file.read_text() == text


def test_links_in_a_circle_are_bad_input(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for write in (files.check_writable, lambda path: files.write_text(path, "")):
        with pytest.raises(L2SError, match=r"cannot write .*/a: "):
            write(tmp_path / "a")


def test_the_reader_of_a_pipe_gets_everything(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "x" * 300_000  # more than a pipe holds
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    files.check_writable(pipe)  # and does not wait for a reader
    reader.start()
    files.write_text(pipe, text)
    reader.join()
    assert got == [text]
    assert pipe.is_fifo()


def test_a_descriptor_without_a_path_is_written_through():
    """As in `--output >(cat)`: the link of /dev/fd leads to a pipe, which has no path."""
    end, begin = os.pipe()
    files.check_writable(f"/dev/fd/{begin}")
    files.write_text(f"/dev/fd/{begin}", "text")
    os.close(begin)
    with os.fdopen(end) as file:
        assert file.read() == "text"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
def test_a_device_stays_a_device(monkeypatch):
    # the superuser could replace the machine's device: a broken program must fail before it does
    monkeypatch.setattr(files, "_replace", lambda *_: pytest.fail("it would be replaced"))
    files.check_writable("/dev/full")
    with pytest.raises(L2SError, match="cannot write /dev/full: No space left on device"):
        files.write_text("/dev/full", "text")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    file = tmp_path / "file"
    file.touch()
    file.chmod(mode)
    files.write_text(file, "new")
    assert file.stat().st_mode & 0o777 == mode


def test_the_longest_name_of_a_file_can_be_written(tmp_path):
    """The name written aside is not longer."""
    longest = "x" * os.pathconf(tmp_path, "PC_NAME_MAX")
    files.check_writable(tmp_path / longest)
    files.write_text(tmp_path / longest, "text")
    assert os.listdir(tmp_path) == [longest]


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "a\ud800b"], ids=["long", "zero", "surrogate"])
@pytest.mark.parametrize("use", [files.check_writable, lambda path: files.write_text(path, ""), files.read_bytes])
def test_a_name_that_no_file_can_have_is_bad_input(tmp_path, name, use):
    with pytest.raises(L2SError, match=r"cannot (write|read) "):
        use(tmp_path / name)


def test_half_a_surrogate_pair_does_not_lose_the_rest(tmp_path):
    files.write_text(tmp_path / "file", "a\ud800b")
    assert (tmp_path / "file").read_text() == r"a\ud800b"


KILLED = """
import os, signal, sys
from l2s_plugin import files
os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
files.write_text(sys.argv[1], "killed")
"""


def test_the_next_write_removes_what_a_killed_writer_left(tmp_path):
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("old")
    for each in (file, other):
        subprocess.run([sys.executable, "-c", KILLED, each], check=False)
    assert file.read_text() == "old"
    assert len(os.listdir(tmp_path)) == 3
    files.write_text(file, "new")
    left = {each.name: each.read_text() for each in tmp_path.iterdir()}
    assert left.pop("file") == "new"
    assert list(left.values()) == ["killed"]  # that of the other file
    files.write_text(other, "new")
    assert sorted(os.listdir(tmp_path)) == ["file", "other"]


def test_what_a_living_writer_has_written_is_left_alone(tmp_path, monkeypatch):
    """Two write the same file at the same time: each in turn is whole, and neither fails."""
    replace = os.replace

    def interrupted(*names):
        monkeypatch.setattr(os, "replace", replace)
        files.write_text(tmp_path / "file", "second")
        replace(*names)

    monkeypatch.setattr(os, "replace", interrupted)
    files.write_text(tmp_path / "file", "first")
    assert (tmp_path / "file").read_text() == "first"
    assert os.listdir(tmp_path) == ["file"]


def test_files_can_be_written_where_there_are_no_locks(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError("not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    files.write_text(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"


def test_file_and_name_are_on_the_disk_before_the_write_returns(tmp_path, monkeypatch):
    """As the guide to training promises about power cuts."""
    done = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(os.readlink(f"/proc/self/fd/{handle}")))
    monkeypatch.setattr(os, "replace", lambda old, new, replace=os.replace: (done.append("rename"), replace(old, new)))
    files.write_text(tmp_path / "file", "text")
    files.append_text(tmp_path / "file", "more")
    aside, rename, folder, appended = done
    assert Path(aside).parent == tmp_path
    assert rename == "rename"
    assert (Path(folder), Path(appended)) == (tmp_path, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "textmore"
