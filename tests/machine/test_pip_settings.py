from pathlib import Path

from tools.machine.pip_settings import configuration_files, merged


def test_a_variable_beats_a_file_and_a_later_file_an_earlier_one() -> None:
    files = ["[global]\ntimeout = 1\nretries = 1\n", "[global]\nretries = 2\n"]
    assert merged(files, {"PIP_TIMEOUT": "9"}) == "[global]\nretries = 2\ntimeout = 9\n"


def test_a_variable_beats_the_section_of_a_command_too() -> None:
    text = merged(["[install]\nindex-url = a\n"], {"PIP_INDEX_URL": "b"})
    assert text == "[install]\n[global]\nindex-url = b\n"


def test_a_value_of_several_lines_stays_one_value() -> None:
    text = merged(["[global]\ntrusted-host =\n    a\n    b\n"], {})
    assert text == "[global]\ntrusted-host = a\n    b\n"


def test_a_percent_sign_in_a_password_is_kept() -> None:
    assert "p%40ss" in merged([], {"PIP_INDEX_URL": "https://user:p%40ss@localhost/"})


def test_where_to_install_is_not_taken_over() -> None:
    assert merged([], {"PIP_USER": "1", "PIP_TARGET": "/x", "HOME": "/h"}) == "[global]\n"


def test_the_file_that_a_variable_names_comes_last() -> None:
    files = configuration_files({"HOME": "/h", "PIP_CONFIG_FILE": "/own"})
    assert files[-1] == Path("/own")
    assert Path("/h/.config/pip/pip.conf") in files
