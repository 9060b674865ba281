"""The steps of streams, each with its functional form."""

from .branching import DemultiplexerIterDataPipe as Demultiplexer
from .branching import ForkerIterDataPipe as Forker
from .changing import CollatorIterDataPipe as Collator
from .changing import FilterIterDataPipe as Filter
from .changing import MapperIterDataPipe as Mapper
from .combining import ConcaterIterDataPipe as Concater
from .combining import MultiplexerIterDataPipe as Multiplexer
from .combining import ZipperIterDataPipe as Zipper
from .grouping import BatcherIterDataPipe as Batcher
from .grouping import GrouperIterDataPipe as Grouper
from .grouping import UnBatcherIterDataPipe as UnBatcher
from .ordering import SamplerIterDataPipe as Sampler
from .ordering import ShardingFilterIterDataPipe as ShardingFilter
from .ordering import ShufflerIterDataPipe as Shuffler
from .sources import FileListerIterDataPipe as FileLister
from .sources import FileOpenerIterDataPipe as FileOpener
from .sources import IterableWrapperIterDataPipe as IterableWrapper
from .sources import RoutedDecoderIterDataPipe as RoutedDecoder
from .sources import StreamReaderIterDataPipe as StreamReader

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "FileLister",
    "FileOpener",
    "Filter",
    "Forker",
    "Grouper",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "RoutedDecoder",
    "Sampler",
    "ShardingFilter",
    "Shuffler",
    "StreamReader",
    "UnBatcher",
    "Zipper",
]
