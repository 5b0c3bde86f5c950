"""Asks a Prometheus server one question. The edge of a gate; judged in plan/gate.py.

Whatever goes wrong becomes a measurement without values, in our own words: nothing that a server
said reaches a status, since the URL is the user's and may be anything.
"""

import math
from typing import Any, Final

import aiohttp
import orjson

from workloads.rollout.evidence import Measurement
from workloads.rollout.steps import GateStep

_TIMEOUT_SECONDS: Final = 5.0
_MAX_ANSWER_BYTES: Final = 1 << 20
_MAX_VALUES: Final = 1000


async def measure(gate: GateStep, *, timeout_seconds: float = _TIMEOUT_SECONDS) -> Measurement:
    """Run the instant query; never raises for what the server does."""
    timeout = aiohttp.ClientTimeout(total=timeout_seconds)
    url = f"{gate.prometheus.rstrip('/')}/api/v1/query"
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, data={"query": gate.query}, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                return Measurement(problem=f"HTTP status {answer.status}")
            body = await _read(answer.content)
    except TimeoutError:
        return Measurement(problem=f"no answer within {timeout_seconds:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Measurement(problem=f"no answer ({type(error).__name__})")
    if body is None:
        return Measurement(problem=f"an answer of more than {_MAX_ANSWER_BYTES} bytes")
    return read_answer(body)


def read_answer(body: bytes) -> Measurement:
    """Read the values of an answer; one that is none becomes a problem."""
    try:
        answer = orjson.loads(body)
        data = answer["data"]
        values = _values(data["resultType"], data["result"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, IndexError):
        return Measurement(problem="an answer that is none of Prometheus's")
    if values is None:
        return Measurement(problem="an answer that is neither a number nor a vector of numbers")
    if not values:
        return Measurement(problem="no result")
    return Measurement(values)


async def _read(stream: aiohttp.StreamReader) -> bytes | None:
    """Read an answer of bounded length; None when it is longer."""
    body = b""
    async for chunk in stream.iter_chunked(1 << 16):
        body += chunk
        if len(body) > _MAX_ANSWER_BYTES:
            return None
    return body


def _values(type_: str, result: Any) -> tuple[float, ...] | None:
    if type_ == "scalar":
        return (float(result[1]),)
    if type_ != "vector":
        return None
    values = tuple(float(sample["value"][1]) for sample in result)
    # More than anybody compares by eye; a bound is a miss rather than a truncated yes.
    return values if len(values) <= _MAX_VALUES else (math.nan,)
