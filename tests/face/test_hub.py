"""torch.hub: local models, files by URL, hashes, and no foreign code unless it is asked for."""

import hashlib
import pickle
import zipfile

import pytest

import ms_adapter.pytorch as face

HUBCONF = '''
dependencies = ["math"]
import helper
def small(width=2):
    """A small model."""
    return helper.scale * width
'''


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "helper.py").write_text("scale = 10")
    return str(folder)


def test_a_local_model(both, repository):
    def scenario(t):
        return t.hub.load(repository, "small", source="local", width=3)

    both(scenario)
    assert face.hub.list(repository, source="local") == ["small"]
    assert face.hub.help(repository, "small", source="local") == "A small model."


@pytest.mark.parametrize(
    ("model", "source", "error"),
    [("large", "local", RuntimeError), (1, "local", ValueError), ("small", "svn", ValueError)],
)
def test_wrong_calls(repository, model, source, error):
    with pytest.raises(error):
        face.hub.load(repository, model, source=source)


def test_a_missing_dependency(repository, tmp_path):
    with open(f"{repository}/hubconf.py", "a") as file:
        file.write("\ndependencies = ['no_such_package']")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        face.hub.load(repository, "small", source="local")


def test_code_from_github_must_be_trusted():
    with pytest.raises(RuntimeError, match="trust_repo=True"):
        face.hub.load("owner/name", "small")


def test_a_repository_is_unpacked_into_the_cache(tmp_path, monkeypatch, repository):
    def download(url, dst, progress):
        assert url == "https://github.com/owner/name/zipball/v1"
        with zipfile.ZipFile(dst, "w") as archive:
            for name in ("hubconf.py", "helper.py"):
                archive.write(f"{repository}/{name}", f"owner-name-123/{name}")

    monkeypatch.setattr(face.hub, "download_url_to_file", download)
    monkeypatch.setattr(face.hub, "_dir", str(tmp_path / "hub"))
    assert face.hub.load("owner/name:v1", "small", trust_repo=True) == 20
    assert [entry.name for entry in (tmp_path / "hub").iterdir()] == ["owner_name_v1"]


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "weights.pth"
    face.save({"w": face.arange(3)}, path)
    named = tmp_path / f"weights-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.pth"
    path.rename(named)
    return named


def test_weights_from_a_url(tmp_path, weights):
    cache = tmp_path / "cache"
    for _ in range(2):  # the second time from the cache
        state = face.hub.load_state_dict_from_url(weights.as_uri(), cache, check_hash=True, progress=False)
        assert state["w"].tolist() == [0, 1, 2]
        weights.unlink(missing_ok=True)
    assert [entry.name for entry in cache.iterdir()] == [weights.name]


def test_weights_of_another_hash_leave_no_file(tmp_path, weights):
    wrong = weights.rename(weights.with_name("weights-00000000.pth"))
    with pytest.raises(RuntimeError, match="invalid hash value"):
        face.hub.load_state_dict_from_url(wrong.as_uri(), tmp_path / "cache", check_hash=True, progress=False)
    assert list((tmp_path / "cache").iterdir()) == []


def test_code_in_a_file_does_not_run(tmp_path):
    (tmp_path / "bad.pth").write_bytes(pickle.dumps(print))
    with pytest.raises(pickle.UnpicklingError):
        face.hub.load_state_dict_from_url((tmp_path / "bad.pth").as_uri(), tmp_path / "cache", progress=False)


def test_weights_inside_a_zip(tmp_path, weights):
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.write(weights, "weights.pth")
    state = face.hub.load_state_dict_from_url(
        (tmp_path / "packed.zip").as_uri(), tmp_path / "c", progress=False
    )
    assert state["w"].tolist() == [0, 1, 2]


def test_the_cache_folder(both, monkeypatch):
    def scenario(t):
        monkeypatch.setattr(t.hub, "_hub_dir" if hasattr(t.hub, "_hub_dir") else "_dir", None)
        seen = []
        for name, value in [("XDG_CACHE_HOME", "/a"), ("TORCH_HOME", "/b")]:
            monkeypatch.setenv(name, value)
            seen.append(t.hub.get_dir())
        t.hub.set_dir("/c")
        seen.append(t.hub.get_dir())
        monkeypatch.undo()
        return seen

    both(scenario)


def test_a_zip_bomb_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights.pth", bytes(10_000_000))
    with pytest.raises(RuntimeError, match="grows to 10000000 bytes"):
        face.hub.load_state_dict_from_url((tmp_path / "bomb.zip").as_uri(), tmp_path / "c", progress=False)
