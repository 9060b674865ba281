"""torch.ops.image: torchvision's reading and writing of images, by Pillow.

torchvision brings libjpeg, libpng and libwebp in a library built against PyTorch's C++; Pillow brings the
same ones. Only 16-bit pictures in colour are out of its reach.
"""

import functools
import io
import pathlib
import struct

import ms_adapter.pytorch as torch

_UNCHANGED, _GRAY, _GRAY_ALPHA, _RGB, _RGB_ALPHA = range(5)  # torchvision.io.ImageReadMode
_MODES = {_GRAY: "L", _GRAY_ALPHA: "LA", _RGB: "RGB", _RGB_ALPHA: "RGBA"}
_PNG = b"\x89PNG\r\n\x1a\n"
_ORIENTATION = 274  # the EXIF tag
_NOT_OF_ITS_KIND = {  # how torchvision's decoders begin to say it
    "PNG": "Out of bound read in decode_png",
    "JPEG": "Not a JPEG file",
    "WEBP": "WebPGetFeatures failed",
    "GIF": "DGifOpenFileName() failed",
}
_OPERATORS = (
    "decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
    "decode_png(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
    "decode_jpeg(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
    "decode_webp(Tensor encoded_data, int mode) -> Tensor",
    "decode_gif(Tensor encoded_data) -> Tensor",
    "encode_png(Tensor data, int compression_level) -> Tensor",
    "encode_jpeg(Tensor data, int quality) -> Tensor",
    "read_file(str filename) -> Tensor",
    "write_file(str filename, Tensor data) -> ()",
)


@functools.cache
def provide():
    """Defines the operators of torchvision's library for images."""
    library = torch.library.Library("image", "FRAGMENT")
    for schema in _OPERATORS:
        name = schema.partition("(")[0]
        library.define(schema)
        library.impl(name, globals()[f"_{name}"], "CompositeExplicitAutograd")


def _pillow(operator):
    try:
        from PIL import Image
    except ModuleNotFoundError as err:
        raise RuntimeError(
            f"{operator}: images are read and written by Pillow, which is not installed: pip install pillow."
        ) from err
    return Image


# ---- bytes, pictures and tensors ------------------------------------------------------------------
def _encoded(data):
    """The bytes of a file in memory."""
    if data.dtype != torch.uint8:
        raise RuntimeError(
            f"Expected a torch.uint8 tensor. Input tensor must have uint8 data type, got {data.dtype}"
        )
    if data.dim() != 1 or data.numel() == 0:
        raise RuntimeError(
            "Expected a non empty 1-dimensional tensor. Input tensor must be 1-dimensional and non-empty, "
            f"got {data.dim()} dims and {data.numel()} numels."
        )
    if not data.is_contiguous():
        raise RuntimeError("Input tensor must be contiguous.")
    return data.numpy().tobytes()


def _tensor(raw):
    return torch.frombuffer(bytearray(raw), dtype=torch.uint8)


def _planes(picture):
    """(C, H, W), each channel a plane within the pixels, as torchvision returns it."""
    raw = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8)
    return raw.reshape(picture.height, picture.width, -1).permute(2, 0, 1)


def _open(operator, raw, kind):
    image = _pillow(operator)
    try:
        return image.open(io.BytesIO(raw), formats=(kind,))
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as err:
        raise RuntimeError(
            f"{operator}: {_NOT_OF_ITS_KIND[kind]}: the content is no {kind} image: {err}"
        ) from err


def _load(operator, picture):
    """Decodes; what Pillow says of damaged files becomes PyTorch's type of error."""
    try:
        picture.load()
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error) as err:
        raise RuntimeError(
            f"{operator}: Image is incomplete or truncated. Out of bound read in {operator}. Probably, the "
            f"input image is corrupted: {err}"
        ) from err


def _upright(picture, wanted):
    if not wanted or picture.getexif().get(_ORIENTATION, 1) == 1:
        return picture
    from PIL import ImageOps

    return ImageOps.exif_transpose(picture)


# ---- reading --------------------------------------------------------------------------------------
def _decode_jpeg(data, mode, apply_exif_orientation=False):
    picture = _open("decode_jpeg", _encoded(data), "JPEG")
    if mode not in (_UNCHANGED, _GRAY, _RGB):
        raise RuntimeError("decode_jpeg: The provided mode is not supported for JPEG files")
    if mode == _GRAY and picture.mode == "RGB":
        picture.draft("L", picture.size)  # the brightness that the file has, not one made of colours
    _load("decode_jpeg", picture)
    picture = _upright(picture, apply_exif_orientation)
    if mode == _UNCHANGED and picture.mode == "CMYK":
        stored = _planes(picture)  # Pillow turns Adobe's inverted inks; libjpeg gives them as they are
        return 255 - stored if "adobe" in picture.info else stored
    if mode == _GRAY and picture.mode == "CMYK":
        picture = picture.convert("RGB")
    return _planes(picture if mode == _UNCHANGED else picture.convert(_MODES[mode]))


def _decode_png(data, mode, apply_exif_orientation=False):
    raw = _encoded(data)
    if len(raw) < len(_PNG):
        raise RuntimeError("decode_png: Content is too small for png!")
    if not raw.startswith(_PNG):
        raise RuntimeError("decode_png: Content is not png!")
    if mode not in (_UNCHANGED, *_MODES):
        raise RuntimeError("decode_png: The provided mode is not supported for PNG files")
    picture = _open("decode_png", raw, "PNG")
    deep = len(raw) > 25 and raw[24] == 16  # the bit depth in the header; the colour type follows
    if deep and (raw[25] != 0 or mode not in (_UNCHANGED, _GRAY)):
        raise NotImplementedError(
            "decode_png: of 16-bit images only gray ones can be read here, as gray ones: Pillow has no "
            "16-bit colours. Store the image with 8 bits per channel."
        )
    _load("decode_png", picture)
    picture = _upright(picture, apply_exif_orientation)
    if deep:
        words = torch.frombuffer(bytearray(picture.convert("I;16").tobytes()), dtype=torch.uint16)
        return words.reshape(1, picture.height, picture.width)
    if mode == _UNCHANGED:
        return _planes(picture.convert("L") if picture.mode == "1" else picture)
    return _png_as(picture, mode)


def _png_as(picture, mode):
    """In another mode, as libpng converts: an alpha channel is dropped, not blended."""
    alpha = picture.mode in ("LA", "RGBA") or "transparency" in picture.info
    colours = picture.mode not in ("1", "L", "LA")
    pixels = _planes(picture.convert("RGBA" if alpha else "RGB"))
    if mode in (_GRAY, _GRAY_ALPHA):
        r, g, b = pixels[:3].to(torch.int32)
        gray = (9794 * r + 19235 * g + 3739 * b) >> 15  # libpng's for 0.2989 and 0.587, without a gamma
        gray = torch.where((r == g) & (g == b), r, gray) if colours else r
        shown = gray.to(torch.uint8)[None]
    else:
        shown = pixels[:3]
    if mode in (_GRAY_ALPHA, _RGB_ALPHA):
        opacity = pixels[3:] if alpha else torch.full_like(shown[:1], 255)
        shown = torch.cat([shown, opacity])
    return shown.permute(1, 2, 0).contiguous().permute(2, 0, 1)


def _decode_webp(encoded_data, mode):
    picture = _open("decode_webp", _encoded(encoded_data), "WEBP")
    if getattr(picture, "is_animated", False):
        raise RuntimeError("decode_webp: Animated webp files are not supported.")
    _load("decode_webp", picture)
    opaque = mode == _RGB or (mode != _RGB_ALPHA and picture.mode != "RGBA")
    return _planes(picture.convert("RGB" if opaque else "RGBA"))


def _decode_gif(encoded_data):
    picture = _open("decode_gif", _encoded(encoded_data), "GIF")
    frames = []
    for number in range(getattr(picture, "n_frames", 1)):
        picture.seek(number)
        _load("decode_gif", picture)
        frames.append(_planes(picture.convert("RGB")))
    return frames[0] if len(frames) == 1 else torch.stack(frames)


def _decode_image(data, mode, apply_exif_orientation=False):
    raw = _encoded(data)
    if raw.startswith(b"\xff\xd8\xff"):
        return _decode_jpeg(data, mode, apply_exif_orientation)
    if raw.startswith(_PNG[:4]):
        return _decode_png(data, mode, apply_exif_orientation)
    if raw.startswith((b"GIF89a", b"GIF87a")):
        return _decode_gif(data)
    if raw.startswith(b"RIFF") and raw[8:15] == b"WEBPVP8":
        return _decode_webp(data, mode)
    raise RuntimeError(
        "decode_image: Unsupported image file. Only jpeg, png, webp and gif are currently supported. For "
        "avif and heic format, please rely on `decode_avif` and `decode_heic` directly."
    )


# ---- writing --------------------------------------------------------------------------------------
def _picture(operator, data):
    image = _pillow(operator)
    if data.dtype != torch.uint8:
        raise RuntimeError(f"{operator}: Input tensor dtype should be uint8, got {data.dtype}")
    if data.dim() != 3:
        raise RuntimeError(f"{operator}: Input data should be a 3-dimensional tensor, got {data.dim()}D")
    channels, height, width = data.shape
    if channels not in (1, 3):
        raise RuntimeError(f"{operator}: The number of channels should be 1 or 3, got: {channels}")
    raw = data.permute(1, 2, 0).contiguous().numpy().tobytes()
    return image.frombytes("L" if channels == 1 else "RGB", (width, height), raw)


def _encode_jpeg(data, quality):
    file = io.BytesIO()
    _picture("encode_jpeg", data).save(file, "JPEG", quality=quality)
    return _tensor(file.getvalue())


def _encode_png(data, compression_level):
    if not 0 <= compression_level <= 9:
        raise RuntimeError("encode_png: Compression level should be between 0 and 9")
    file = io.BytesIO()
    _picture("encode_png", data).save(file, "PNG", compress_level=compression_level)
    return _tensor(file.getvalue())


# ---- files ----------------------------------------------------------------------------------------
def _read_file(filename):
    try:
        raw = pathlib.Path(filename).read_bytes()
    except OSError as err:
        raise RuntimeError(f"[Errno {err.errno}] {err.strerror}: '{filename}'") from err
    if not raw:
        raise RuntimeError(f"read_file: Expected a non empty file, but {filename} is empty.")
    return _tensor(raw)


def _write_file(filename, data):
    if data.dtype != torch.uint8:
        raise RuntimeError(f"write_file: Input tensor dtype should be uint8, got {data.dtype}")
    if data.dim() != 1:
        raise RuntimeError(f"write_file: Input data should be a 1-dimensional tensor, got {data.dim()}D")
    try:
        pathlib.Path(filename).write_bytes(data.contiguous().numpy().tobytes())
    except OSError as err:
        raise RuntimeError(f"write_file: Error opening output file {filename}: {err.strerror}") from err
