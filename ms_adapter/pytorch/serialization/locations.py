"""Which device a storage's name in a file means, and how a storage gets there."""

import warnings

import ms_adapter.pytorch as torch

_packages = []  # (priority, tagger, deserializer), first to ask first
_said = set()
# Devices that PyTorch's files name; where such a one is not here, its storages are loaded to cpu.
_FOREIGN = (
    "cuda",
    "mps",
    "xpu",
    "hpu",
    "xla",
    "mtia",
    "ipu",
    "hip",
    "privateuseone",
    "mindspore",
    "maia",
)


def register_package(priority, tagger, deserializer):
    """Add a kind of device: ``tagger(storage)`` gives the name that files get for it, or None;
    ``deserializer(storage, location)`` the storage on it, or None. Lower priorities are asked first.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage):
    """The name that files get for a storage's device."""
    storage = getattr(storage, "_untyped_storage", storage)
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag is not None:
            return tag
    device = storage.device
    return device.type if device.index is None or device.type == "cpu" else str(device)


def default_restore_location(storage, location):
    """The storage on the device that ``location`` names.

    A name of a device that this machine lacks ("cuda:0", "mps") means cpu, which is said once.
    """
    location = str(location)
    for _, _, deserializer in _packages:
        result = deserializer(storage, location)
        if result is not None:
            return result
    device = _device(location)
    if device.type == storage.device.type:
        return storage
    if device.type == "meta":
        return torch.UntypedStorage(storage.nbytes(), device="meta")
    whole = torch.empty((0,), dtype=torch.uint8, device=storage.device)
    return whole.set_(storage, 0, (storage.nbytes(),), (1,)).to(device).untyped_storage()


def _device(location):
    """The device of this machine for a location in a file."""
    kind = location.partition(":")[0]
    if location == "cpu":
        return torch.device("cpu")
    if kind in _FOREIGN and not _is_here(kind):
        if kind not in _said:
            _said.add(kind)
            warnings.warn(
                f"torch.load: the file's storages are tagged with {location!r}, a device that is not here; "
                "they are loaded to cpu (said once). map_location chooses another device.",
                stacklevel=2,
            )
        return torch.device("cpu")
    try:
        return torch.device(location)
    except RuntimeError as err:
        why = "a device that is not here" if kind == "npu" else "which names no device"
        raise RuntimeError(
            f"torch.load: don't know how to restore data location {location[:80]!r} of a storage, {why}; "
            "pass map_location='cpu' to load it to cpu."
        ) from err


def _is_here(kind):
    if kind == "cuda":
        return torch.cuda.is_available()
    try:
        torch.empty(0, device=kind)
    except (RuntimeError, NotImplementedError):
        return False
    return torch.device(kind).type == kind


def restorer(map_location):
    """The function that puts a storage where it belongs: (storage on cpu, saved location) -> storage."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, map_location.get(location, location)
        )
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, (str, int, torch.device)):
        target = str(torch.device(map_location))
        return lambda storage, location: default_restore_location(storage, target)
    if not callable(map_location):
        raise TypeError(
            "torch.load: map_location must be a device, its name, a dictionary of names or a function, not "
            f"{type(map_location).__name__}."
        )

    def custom(storage, location):
        answer = map_location(storage, location)
        if answer is None:
            return default_restore_location(storage, location)
        answer = getattr(answer, "_untyped_storage", answer)
        if not isinstance(answer, torch.UntypedStorage):
            raise TypeError(
                f"torch.load: map_location returned {type(answer).__name__}, not a storage or None."
            )
        return answer

    return custom


def is_meta(map_location):
    """Whether all storages go to the device that has no data."""
    return isinstance(map_location, (str, torch.device)) and torch.device(map_location).type == "meta"
