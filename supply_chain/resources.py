"""ImagePolicy and ClusterImagePolicy, parsed once into frozen dataclasses.

Nothing outside this module touches the raw objects. The CRDs refuse most nonsense already; what
only code can tell (a pattern outside the regex dialect) raises InvalidPolicy with the field's path.
A policy that does not parse still matches its images if its globs parse, and then denies them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal

from kube_runtime.resource import Json, Uid
from supply_chain.errors import InvalidPolicy
from supply_chain.plan.globs import MAX_GLOB_LENGTH, Glob
from supply_chain.plan.regexes import BadRegexError, Regex
from supply_chain.registry.reference import DEFAULT_HOST, normalised_host

DEFAULT_KEY_ENTRY: Final = "cosign.pub"
DEFAULT_ROOT_ENTRY: Final = "trusted_root.json"


class TransparencyLog(Enum):
    """Whether a signature by a key must stand in a log of the trust root."""

    REQUIRED = "Required"
    IGNORED = "Ignored"


@dataclass(frozen=True, slots=True)
class Inline:
    """Text that stands in the policy itself."""

    text: str


@dataclass(frozen=True, slots=True)
class MaterialRef:
    """Text in one entry of a Secret or ConfigMap, always of the policy's own namespace."""

    kind: Literal["Secret", "ConfigMap"]
    namespace: str
    name: str
    key: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}[{self.key}]"


Material = Inline | MaterialRef


@dataclass(frozen=True, slots=True)
class Matcher:
    """An exact text, or an anchored pattern."""

    exact: str | None
    regex: Regex | None

    def matches(self, text: str) -> bool:
        """Tell whether the whole text fits."""
        return text == self.exact if self.regex is None else self.regex.matches(text)

    def __str__(self) -> str:
        return repr(self.exact) if self.regex is None else f"/{self.regex.pattern}/"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who may have signed: both sides must fit."""

    issuer: Matcher
    subject: Matcher

    def __str__(self) -> str:
        return f"subject {self.subject} by issuer {self.issuer}"


@dataclass(frozen=True, slots=True)
class KeyAuthority:
    """Signatures by the holder of one key."""

    name: str
    key: Material
    transparency_log: TransparencyLog
    trust_root: Material | None


@dataclass(frozen=True, slots=True)
class KeylessAuthority:
    """Signatures by a short-lived certificate for one of the identities."""

    name: str
    identities: tuple[Identity, ...]
    trust_root: Material


Authority = KeyAuthority | KeylessAuthority


@dataclass(frozen=True, slots=True)
class ImagePolicy:
    """One policy of either kind; `namespace` is empty for a ClusterImagePolicy."""

    kind: str
    namespace: str
    name: str
    uid: Uid
    generation: int
    images: tuple[Glob, ...]
    authorities: tuple[Authority, ...]
    problem: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    def covers(self, image_name: str, namespace: str) -> bool:
        """Tell whether the policy speaks about this image in this namespace."""
        in_scope = not self.namespace or self.namespace == namespace
        return in_scope and any(glob.matches(image_name) for glob in self.images)


def parse_policy(raw: Json, *, install_namespace: str) -> ImagePolicy:
    """Parse a policy object; what is wrong with its authorities becomes `problem`.

    A ClusterImagePolicy may read Secrets and ConfigMaps of the install namespace alone, an
    ImagePolicy those of its own: a reference never reaches into somebody else's namespace.
    """
    metadata, spec = raw["metadata"], raw.get("spec") or {}
    namespace = metadata.get("namespace", "")
    authorities: tuple[Authority, ...] = ()
    problem = None
    try:
        images = _globs(spec.get("images"))
    except InvalidPolicy as error:
        # Which images it means cannot be told, so it must be assumed that it means all.
        images, problem = (Glob("**"),), str(error)
    try:
        reader = _Reader(namespace or install_namespace)
        authorities = reader.authorities(spec.get("authorities"))
    except InvalidPolicy as error:
        problem = problem or str(error)
    return ImagePolicy(
        kind=raw["kind"],
        namespace=namespace,
        name=metadata["name"],
        uid=Uid(metadata["uid"]),
        generation=metadata.get("generation", 0),
        images=images,
        authorities=authorities,
        problem=problem,
    )


def _globs(raw: object) -> tuple[Glob, ...]:
    items = _list(raw, "spec.images")
    return tuple(
        Glob(
            _named_as_images_are(
                _text(
                    _object(item, f"spec.images[{at}]", {"glob"}).get("glob"),
                    f"spec.images[{at}].glob",
                    longest=MAX_GLOB_LENGTH,
                )
            )
        )
        for at, item in enumerate(items)
    )


def _named_as_images_are(glob: str) -> str:
    """Write the host as references are normalised: `r.test:443/**` would match nothing at all."""
    host, slash, rest = glob.partition("/")
    if not slash:
        return glob
    host = normalised_host(host)
    if host == DEFAULT_HOST and not set("/*") & set(rest):
        rest = f"library/{rest}"
    return f"{host}/{rest}"


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads authorities; every reference is bound to one namespace."""

    namespace: str

    def authorities(self, raw: object) -> tuple[Authority, ...]:
        items = _list(raw, "spec.authorities")
        found = tuple(
            self._authority(item, f"spec.authorities[{n}]") for n, item in enumerate(items)
        )
        names = [authority.name for authority in found]
        if len(set(names)) < len(names):
            raise InvalidPolicy("spec.authorities: two authorities have the same name")
        return found

    def _authority(self, raw: object, path: str) -> Authority:
        known = {"name", "key", "keyless", "transparencyLog", "trustRoot"}
        fields = _object(raw, path, known)
        name = _text(fields.get("name"), f"{path}.name", longest=63)
        log = _log(fields.get("transparencyLog", "Required"), f"{path}.transparencyLog")
        root = self._trust_root(fields.get("trustRoot"), f"{path}.trustRoot")
        if ("key" in fields) == ("keyless" in fields):
            raise InvalidPolicy(f"{path}: expected exactly one of key and keyless")
        if log is TransparencyLog.REQUIRED and root is None:
            raise InvalidPolicy(
                f"{path}.trustRoot is missing: expected the trust root whose log must hold the "
                "signature, or transparencyLog: Ignored for a plain key"
            )
        if "key" in fields:
            return KeyAuthority(name, self._key(fields["key"], f"{path}.key"), log, root)
        if log is TransparencyLog.IGNORED or root is None:
            raise InvalidPolicy(f"{path}.transparencyLog: a keyless authority cannot do without")
        return KeylessAuthority(name, _identities(fields["keyless"], f"{path}.keyless"), root)

    def _key(self, raw: object, path: str) -> Material:
        fields = _object(raw, path, {"data", "secretRef"})
        if ("data" in fields) == ("secretRef" in fields):
            raise InvalidPolicy(f"{path}: expected exactly one of data and secretRef")
        if "data" in fields:
            return Inline(_text(fields["data"], f"{path}.data", longest=16_384))
        return self._reference("Secret", fields["secretRef"], f"{path}.secretRef")

    def _trust_root(self, raw: object, path: str) -> Material | None:
        if raw is None:
            return None
        fields = _object(raw, path, {"inline", "configMapRef"})
        if ("inline" in fields) == ("configMapRef" in fields):
            raise InvalidPolicy(f"{path}: expected exactly one of inline and configMapRef")
        if "inline" in fields:
            return Inline(_text(fields["inline"], f"{path}.inline", longest=262_144))
        return self._reference("ConfigMap", fields["configMapRef"], f"{path}.configMapRef")

    def _reference(self, kind: Literal["Secret", "ConfigMap"], raw: object, path: str) -> Material:
        fields = _object(raw, path, {"name", "key"})
        default = DEFAULT_KEY_ENTRY if kind == "Secret" else DEFAULT_ROOT_ENTRY
        name = _text(fields.get("name"), f"{path}.name", longest=253)
        key = _text(fields.get("key", default), f"{path}.key", longest=253)
        return MaterialRef(kind, self.namespace, name, key)


def _identities(raw: object, path: str) -> tuple[Identity, ...]:
    items = _list(_object(raw, path, {"identities"}).get("identities"), f"{path}.identities")
    return tuple(_identity(item, f"{path}.identities[{n}]") for n, item in enumerate(items))


def _identity(raw: object, path: str) -> Identity:
    fields = _object(raw, path, {"issuer", "issuerRegExp", "subject", "subjectRegExp"})
    return Identity(_matcher(fields, "issuer", path), _matcher(fields, "subject", path))


def _matcher(fields: Mapping[str, Any], side: str, path: str) -> Matcher:
    pattern = f"{side}RegExp"
    if (side in fields) == (pattern in fields):
        # An identity with an open side would trust everybody whom the issuer, or anybody, lets in.
        raise InvalidPolicy(f"{path}: expected exactly one of {side} and {pattern}")
    if side in fields:
        return Matcher(_text(fields[side], f"{path}.{side}", longest=2048), None)
    text = _text(fields[pattern], f"{path}.{pattern}", longest=512)
    try:
        return Matcher(None, Regex(text))
    except BadRegexError as error:
        raise InvalidPolicy(f"{path}.{pattern}: {error}") from error


def _log(raw: object, path: str) -> TransparencyLog:
    try:
        return TransparencyLog(raw)
    except ValueError as error:
        raise InvalidPolicy(f"{path}: expected Required or Ignored, found {raw!r}") from error


def _object(raw: object, path: str, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(raw, dict):
        raise InvalidPolicy(f"{path}: expected an object")
    if unknown := sorted(set(raw) - known):
        # A constraint that is silently not applied is a hole, so an unknown field is an error.
        raise InvalidPolicy(f"{path}.{unknown[0]}: unknown field; known are {sorted(known)}")
    return raw


def _list(raw: object, path: str) -> Sequence[object]:
    if not isinstance(raw, list) or not raw:
        raise InvalidPolicy(f"{path}: expected a list with at least one item")
    return raw


def _text(raw: object, path: str, *, longest: int) -> str:
    if not isinstance(raw, str) or not 0 < len(raw) <= longest:
        raise InvalidPolicy(f"{path}: expected a text of 1 to {longest} characters")
    return raw
