"""torch._utils_internal: where files lie, as other libraries' tests ask for theirs."""

import os
import pathlib


def get_file_path(*path_components):
    """The path of a file below the face's folder, as a text."""
    return str(pathlib.Path(__file__).parent.joinpath(*path_components))


def get_file_path_2(*path_components):
    """The parts of a path as one.

    >>> from ms_adapter.pytorch._utils_internal import get_file_path_2
    >>> get_file_path_2("assets", "picture.png")
    'assets/picture.png'
    """
    return os.path.join(*path_components)
