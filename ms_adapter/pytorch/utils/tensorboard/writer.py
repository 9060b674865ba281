"""SummaryWriter: numbers and pictures of a training, step by step, into TensorBoard's event files."""

import datetime
import os
import socket
import time

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.summary.writer.record_writer import RecordWriter  # noqa: F401 - one of the public names

from . import _graph, _projector, _values
from .summary import hparams

__all__ = ["FileWriter", "SummaryWriter"]

_IN_A_PATH = {ord(c): f"%{ord(c):02x}" for c in "%/\\"}  # what a tag may not have there


class FileWriter:
    """One event file, written by a thread of its own."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event, step=None, walltime=None):
        """Write an event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary, global_step=None, walltime=None):
        """Write a summary as an event."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self):
        """Write all that waits."""
        self.event_writer.flush()

    def close(self):
        """Write all that waits and close the file."""
        self.event_writer.close()

    def reopen(self):
        """Go on in a new file after :meth:`close`."""
        self.event_writer.reopen()


class SummaryWriter:
    """Writes what a training reports into a folder that TensorBoard reads.

    Args:
        log_dir: the folder; ``runs/`` with the time and the machine's name where none is given.
        comment: appended to that name.
        purge_step: TensorBoard hides what was written before from this step on.
        max_queue, flush_secs: how much waits, and how long, before it is written.
        filename_suffix: appended to the files' names.

    Every method takes ``global_step`` and ``walltime``, a time in seconds instead of the present.
    """

    def __init__(
        self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""
    ):
        if not log_dir:
            now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer = self.all_writers = None
        self._projector = _projector.ProjectorConfig()
        self._get_file_writer()

    def _get_file_writer(self):
        if self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                start = Event(step=self.purge_step, file_version="brain.Event:2")
                self.file_writer.add_event(start)
                marked = Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START))
                self.file_writer.add_event(marked)
                self.purge_step = None
        return self.file_writer

    def _open(self, folder):
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _add(self, summary, global_step, walltime):
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    # ---- numbers -----------------------------------------------------------------------------------
    def add_scalar(
        self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False
    ):
        """One number."""
        self._add(_values.scalar(tag, scalar_value, new_style), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several numbers in one chart, each in a folder of its own."""
        self._get_file_writer()
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(str(self.log_dir), main_tag.replace("/", "_") + "_" + tag)
            writer = self.all_writers.get(folder) or self.all_writers.setdefault(folder, self._open(folder))
            writer.add_summary(_values.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """The elements of a tensor."""
        self._add(_values.tensor(tag, tensor), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """The distribution of values."""
        self._add(_values.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag,
        min,
        max,
        num,
        sum,
        sum_squares,
        bucket_limits,
        bucket_counts,
        global_step=None,
        walltime=None,
    ):
        """A distribution that was counted already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"add_histogram_raw: {len(bucket_limits)} bucket_limits, {len(bucket_counts)} bucket_counts."
            )
        summary = _values.histogram_raw(
            tag,
            min=min,
            max=max,
            num=num,
            sum=sum,
            sum_squares=sum_squares,
            bucket_limit=bucket_limits,
            bucket=bucket_counts,
        )
        self._add(summary, global_step, walltime)

    def add_pr_curve(
        self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None
    ):
        """Precision against recall, for labels of 0 and 1 and predictions from 0 to 1."""
        self._add(_values.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag,
        true_positive_counts,
        false_positive_counts,
        true_negative_counts,
        false_negative_counts,
        precision,
        recall,
        global_step=None,
        num_thresholds=127,
        weights=None,
        walltime=None,
    ):
        """A curve that was counted already."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        summary = _values.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights)
        self._add(summary, global_step, walltime)

    # ---- pictures, sounds, texts ---------------------------------------------------------------------
    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture: bytes, or numbers from 0 to 1."""
        self._add(_values.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Pictures, side by side."""
        self._add(_values.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag,
        img_tensor,
        box_tensor,
        global_step=None,
        walltime=None,
        rescale=1,
        dataformats="CHW",
        labels=None,
    ):
        """A picture with rectangles (left, top, right, bottom) on it."""
        labels = [labels] if isinstance(labels, str) else labels
        summary = _values.boxed_image(tag, img_tensor, box_tensor, dataformats, labels, rescale)
        self._add(summary, global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A figure of matplotlib, or a list of them."""
        if isinstance(figure, (list, tuple)):
            arrays = [_values.figure_array(each, close) for each in figure]
            self.add_images(tag, _values.np.stack(arrays), global_step, walltime)
        else:
            self.add_image(tag, _values.figure_array(figure, close), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """A sound from -1 to 1."""
        self._add(_values.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text in Markdown."""
        self._add(_values.text(tag, text_string), global_step, walltime)

    def add_mesh(
        self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None
    ):
        """Points (N, V, 3) in space, with colours and triangles."""
        self._add(_values.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    # ---- charts and hyperparameters ------------------------------------------------------------------
    def add_custom_scalars(self, layout):
        """Which scalars share a chart: {category: {chart: ["Multiline" or "Margin", [tags]]}}."""
        self._add(_values.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """One chart with several lines."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """One chart with a line and its margins: three tags."""
        if len(tags) != 3:
            raise ValueError(f"add_custom_scalars_marginchart: a margin chart has 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_hparams(
        self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None
    ):
        """Hyperparameters and what came of them, in a folder of their own."""
        summaries = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(str(self.get_logdir()), run_name or str(time.time()))
        writer = self._open(folder)
        for summary in summaries:
            writer.add_summary(summary)
        for name, value in metric_dict.items():
            writer.add_summary(_values.scalar(name, value), global_step)
        writer.close()

    # ---- models and points --------------------------------------------------------------------------
    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The functions that a model calls for an input (a tensor, or a tuple of arguments), by module.

        The model runs once, in evaluation mode. ``verbose`` prints the graph.
        """
        found = _graph.graph_of(model, input_to_model)
        if verbose:
            print(found)
        self._get_file_writer().add_event(Event(graph_def=found.SerializeToString()))

    def add_embedding(
        self,
        mat,
        metadata=None,
        label_img=None,
        global_step=None,
        tag="default",
        metadata_header=None,
    ):
        """Points (n, features) for the projector, with a label and a picture (n, C, H, W) for each."""
        step = f"{global_step or 0:05}"
        folder = self._get_file_writer().get_logdir()
        self._projector.embeddings.append(
            _projector.write_points(
                folder,
                f"{step}/{tag.translate(_IN_A_PATH)}",
                f"{tag}:{step}",
                mat,
                metadata,
                metadata_header,
                label_img,
            )
        )
        _projector.write_config(folder, self._projector)

    # ---- what is missing -----------------------------------------------------------------------------
    def add_onnx_graph(self, prototxt):
        """Raises NotImplementedError: ONNX is not supported."""
        raise NotImplementedError("SummaryWriter.add_onnx_graph: ONNX models are not supported yet.")

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Raises NotImplementedError: videos are not supported."""
        raise NotImplementedError(
            "SummaryWriter.add_video: not supported yet; add_images writes the pictures."
        )

    # ---- the end -------------------------------------------------------------------------------------
    def flush(self):
        """Write all that waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Write all that waits and close the files; the next event opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.close()
