"""Hands over to kubectl, whose terminal handling is not to be written twice."""

import os
import shutil
from collections.abc import Sequence
from typing import Final, NoReturn

from levelset.rollout.errors import NoKubectl

_PROGRAM: Final = "kubectl"


def exec_words(
    pod: str,
    command: Sequence[str],
    *,
    container: str = "",
    has_stdin: bool = False,
    has_tty: bool = False,
    is_quiet: bool = False,
) -> list[str]:
    """Build the words of `kubectl exec`; the command stands behind "--", whatever it looks like."""
    wished = {"--stdin": has_stdin, "--tty": has_tty, "--quiet": is_quiet}
    flags = [flag for flag, is_set in wished.items() if is_set]
    flags += ["--container", container] if container else []
    return ["exec", f"pod/{pod}", *flags, "--", *command]


def kubectl_words(
    words: Sequence[str], *, namespace: str, kubeconfig: str | None, context: str | None
) -> list[str]:
    """Build the whole command line, for the same cluster and namespace."""
    flags = ["--namespace", namespace]
    flags += ["--kubeconfig", kubeconfig] if kubeconfig else []
    flags += ["--context", context] if context else []
    return [_PROGRAM, *flags, *words]


def become_kubectl(words: Sequence[str]) -> NoReturn:
    """Go on as kubectl with these words; raises NoKubectl when it is not on PATH."""
    program = shutil.which(_PROGRAM)
    if program is None:
        raise NoKubectl(
            f"exec hands over to kubectl; expected it on PATH, found none; install it, then: "
            f"{' '.join(words)}"
        )
    os.execv(program, list(words))  # noqa: S606 - no shell is what is wanted
