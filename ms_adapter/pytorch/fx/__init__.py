"""torch.fx: programs as graphs, traced from Python, changed, and written as Python again."""

from . import immutable_collections, node, operator_schemas, proxy
from ._symbolic_trace import PH, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

from . import experimental, passes  # isort: skip - they use the names above
