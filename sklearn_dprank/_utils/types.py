"""Types shared by public signatures."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: An epsilon or a delta. Fractions are used without rounding.
Amount: TypeAlias = float | Fraction | np.floating[Any] | np.integer[Any]
if TYPE_CHECKING:  # devices do not load numpy.random
    RandomState: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None
else:
    RandomState: TypeAlias = Any

Neighboring: TypeAlias = Literal["add_remove", "replace"]
LaplaceOrGaussian: TypeAlias = Literal["laplace", "gaussian"]
Norm: TypeAlias = Literal["l1", "l2"]
Variant: TypeAlias = Literal["corrected", "as_printed"]
GaussianConstant: TypeAlias = Literal["dwork_roth", "dwork_2006", "two"]
ShuffleMethod: TypeAlias = Literal["blanket", "exact", "clones", "closed_form", "song2022"]
NoiseName: TypeAlias = Literal["laplace", "gaussian", "knorm", "exponential", "permute_and_flip"]
PairNoise: TypeAlias = Literal["rr", "laplace"]
RuleName: TypeAlias = Literal[
    "borda",
    "plurality",
    "veto",
    "instant_runoff",
    "kemeny",
    "kwiksort",
    "hierarchical",
    "bradley_terry",
    "markov_chain",
]
#: One score per position, best first. Not `ArrayLike`, because that type also accepts text.
Scores: TypeAlias = Literal["borda", "plurality", "veto"] | Sequence[float] | NDArray[Any]

ItemNames: TypeAlias = Iterable[str] | Iterable[int]
#: Names of the items, or their number.
Items: TypeAlias = ItemNames | int
#: A report from a client: a JSON object, parsed or not.
Message: TypeAlias = Mapping[str, Any] | str | bytes
