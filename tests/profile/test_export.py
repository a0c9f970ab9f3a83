"""Tests of exports: each file has its defined format and the figures of the profile."""

import gzip
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from lockwright.base.errors import LockwrightError
from lockwright.export import firefox as firefox_format
from lockwright.export import folded, formats, pprof
from lockwright.profile.record import Place, Profile, Site
from support.made_profile import frame, made_profile
from support.processes import captured


@pytest.fixture(scope="module")
def profile() -> Profile:
    """Return the example profile with names that formats have to quote."""
    made = made_profile()
    odd = frame("operator;(char const*, std::pair<int, int>)", "")
    worst = replace(
        made.mutexes[0], sites=(*made.mutexes[0].sites, Site((odd,), 10, 7, 5e6, 1e6), _UNKNOWN)
    )
    return replace(made, mutexes=(worst, *made.mutexes[1:]))


_UNKNOWN = Site((), 1, 1, 1e6, 0)
"""A site without a known frame."""


def waited(profile: Profile) -> float:
    return sum(site.waited for mutex in profile.mutexes for site in mutex.sites)


def test_folded_stacks_have_the_time_waited(profile: Profile) -> None:
    lines = folded.folded_stacks(profile).splitlines()
    weights = [int(line.rsplit(" ", 1)[1]) for line in lines]
    assert sum(weights) == pytest.approx(waited(profile), rel=1e-6)
    stacks = [line.rsplit(" ", 1)[0].split(";") for line in lines]
    assert ["operator:(char const*, std::pair<int, int>)", "Table::mutex"] in stacks
    assert stacks[0][0] == "clone3"
    assert stacks[0][-1] == "Table::mutex"


def test_firefox(profile: Profile) -> None:
    document = json.loads(firefox_format.firefox_json(profile))
    assert document["meta"]["preprocessedProfileVersion"] == 62
    shared = document["shared"]
    strings, stacks, frames = shared["stringArray"], shared["stackTable"], shared["frameTable"]
    functions = shared["funcTable"]
    for name, table in shared.items():
        if name != "stringArray":
            check_table(table)
    assert all(value < frames["length"] for value in stacks["frame"])
    assert all(p is None or p < index for index, p in enumerate(stacks["prefix"]))
    assert all(value < functions["length"] for value in frames["func"])
    assert all(value < len(document["meta"]["categories"]) for value in frames["category"])
    assert all(value < len(strings) for value in functions["name"])
    assert all(-1 <= value < shared["resourceTable"]["length"] for value in functions["resource"])
    assert all(v is None or v < shared["sources"]["length"] for v in functions["source"])
    assert all(value < len(document["libs"]) for value in shared["resourceTable"]["lib"])
    (schema,) = document["meta"]["markerSchema"]
    for thread in document["threads"]:
        samples, markers = thread["samples"], thread["markers"]
        check_table({key: value for key, value in samples.items() if key != "weightType"})
        check_table(markers)
        assert all(value < stacks["length"] for value in samples["stack"])
        assert all(value >= 0 for value in samples["timeDeltas"])
        for data in markers["data"]:
            assert data["type"] == schema["name"]
            assert all(data[field["key"]] < len(strings) for field in schema["fields"])
        assert all(b <= e for b, e in zip(markers["startTime"], markers["endTime"], strict=True))
    process, *others = document["threads"]
    assert sum(process["samples"]["weight"]) == pytest.approx(waited(profile) / 1e6)
    assert sum(thread["markers"]["length"] for thread in others) == len(profile.timeline)
    innermost = frames["func"][stacks["frame"][process["samples"]["stack"][0]]]
    assert strings[functions["name"][innermost]] == "Table::mutex"


def check_table(table: dict[str, Any]) -> None:
    columns = {key: value for key, value in table.items() if key != "length"}
    assert {len(column) for column in columns.values()} == {table["length"]}


# The fields of each message: name, number, and a type: i for int64, u for uint64, b for bool, s for
# string, or a message; * for repeated. From profile.proto of github.com/google/pprof.
PPROF = {
    "ValueType": "type 1 i, unit 2 i",
    "Label": "key 1 i, str 2 i, num 3 i, num_unit 4 i",
    "Sample": "location_id 1 u*, value 2 i*, label 3 Label*",
    "Mapping": "id 1 u, memory_start 2 u, memory_limit 3 u, file_offset 4 u, filename 5 i, "
    "build_id 6 i, has_functions 7 b, has_filenames 8 b, has_line_numbers 9 b",
    "Line": "function_id 1 u, line 2 i",
    "Location": "id 1 u, mapping_id 2 u, address 3 u, line 4 Line*, is_folded 5 b",
    "Function": "id 1 u, name 2 i, system_name 3 i, filename 4 i, start_line 5 i",
    "Profile": "sample_type 1 ValueType*, sample 2 Sample*, mapping 3 Mapping*, "
    "location 4 Location*, function 5 Function*, string_table 6 s*, drop_frames 7 i, "
    "keep_frames 8 i, time_nanos 9 i, duration_nanos 10 i, period_type 11 ValueType, "
    "period 12 i, comment 13 i*, default_sample_type 14 i",
}
TYPES = {"i": 3, "u": 4, "b": 8, "s": 9}
MESSAGE, OPTIONAL, REPEATED = 11, 1, 3


def decode_pprof(data: bytes) -> Any:
    """Decode a profile with Google's library and the table above."""
    file: Any = descriptor_pb2.FileDescriptorProto(name="p.proto", package="p", syntax="proto3")
    for name, fields in PPROF.items():
        message = file.message_type.add(name=name)
        for field in fields.split(", "):
            field_name, number, kind = field.split()
            label = REPEATED if kind.endswith("*") else OPTIONAL
            kind = kind.rstrip("*")
            added = message.field.add(name=field_name, number=int(number), label=label)
            added.type = TYPES.get(kind, MESSAGE)
            if added.type == MESSAGE:
                added.type_name = f".p.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    decoded = message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))()
    assert decoded.ParseFromString(data) == len(data)
    return decoded


def test_pprof(profile: Profile) -> None:
    data = gzip.decompress(pprof.pprof_bytes(profile))
    decoded = decode_pprof(data)
    strings = list(decoded.string_table)
    assert strings[0] == ""
    assert len(set(strings)) == len(strings)
    kinds = [(strings[each.type], strings[each.unit]) for each in decoded.sample_type]
    assert kinds[:2] == [("contentions", "count"), ("delay", "nanoseconds")]
    assert strings[decoded.default_sample_type] == "delay"
    locations = {each.id: each for each in decoded.location}
    functions = {each.id: each for each in decoded.function}
    mappings = {each.id: each for each in decoded.mapping}
    assert 0 not in locations | functions | mappings
    assert len(locations) == len(decoded.location)
    for each in decoded.location:
        mapping = mappings[each.mapping_id]
        assert mapping.memory_start <= each.address < mapping.memory_limit
        assert [line.function_id in functions for line in each.line] == [True]
    assert all(len(sample.value) == len(kinds) for sample in decoded.sample)
    assert sum(sample.value[1] for sample in decoded.sample) == pytest.approx(
        waited(profile), rel=1e-6
    )
    first = decoded.sample[0]
    assert strings[first.label[0].key] == "mutex"
    assert strings[first.label[0].str] == "Table::mutex"
    # The innermost frame is the first.
    inner, outer = (locations[first.location_id[index]].line[0] for index in (0, -1))
    assert strings[functions[inner.function_id].name].startswith("Table::lookup")
    assert inner.line == 84
    assert strings[functions[outer.function_id].name] == "clone3"
    assert {strings[each.filename] for each in decoded.mapping} >= {"/usr/bin/table-server"}
    assert decoded.duration_nanos == 2_000_000_000
    # The file has no fields that the format does not define.
    decoded.DiscardUnknownFields()
    assert decoded.ByteSize() == len(data)


def test_every_format_of_an_empty_profile() -> None:
    empty = replace(made_profile(), mutexes=(), timeline=(), command=())
    for each in formats.FORMATS.values():
        assert isinstance(each.convert(empty), str | bytes)


def test_a_frame_without_symbols(profile: Profile) -> None:
    unnamed = replace(frame("", ""), symbol_offset=0)
    sites, place = (Site((unnamed,), 1, 1, 100, 0),), Place("object", unnamed)
    mutex = replace(profile.mutexes[0], sites=sites, place=place)
    single = replace(profile, mutexes=(mutex,), timeline=())
    assert folded.folded_stacks(single) == "table-server+0x4000;Table::mutex 100\n"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a.html", "html"),
        ("a.FIREFOX.json", "firefox"),
        ("a.pb.gz", "pprof"),
        ("a.folded", "folded"),
    ],
)
def test_the_name_determines_the_format(name: str, wanted: str) -> None:
    assert formats.format_of(Path(name)) == wanted


def test_a_name_without_a_format_is_refused() -> None:
    with pytest.raises(LockwrightError, match="does not say which format") as raised:
        formats.format_of(Path("profile.json"))
    assert "--format" in raised.value.todo


def test_the_command(lockwright: Path, tmp_path: Path) -> None:
    source = tmp_path / "profile.json"
    source.write_text(made_profile().to_json())

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return captured([lockwright, "export", *words])

    done = run(source, "-o", tmp_path / "out.folded")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.folded").read_text() == folded.folded_stacks(made_profile())
    source.write_text("{}")
    refused = run(source, "-o", tmp_path / "out.pb.gz")
    assert refused.returncode == 2
    assert "is not a profile" in refused.stderr
    assert not (tmp_path / "out.pb.gz").exists()
