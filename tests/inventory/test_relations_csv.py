"""Declared relations as files: what is written is read again, and every line that is wrong is told what to do."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.inventory.relations import KINDS, Relation, fault_of, fault_of_note, one_line
from hadash.inventory.relations_csv import COLUMNS, MAX_BYTES, MAX_LINES, Parsed, parse, written

HEAD = ",".join(COLUMNS) + "\n"


def read(text: str, encoding: str = "utf-8") -> Parsed:
    return parse(text.encode(encoding), {"shop", "crm", "商城"})


def faults(text: str) -> list[tuple[int, str]]:
    return [(fault.line, str(fault.sentence)) for fault in read(text).faults]


names = st.text(max_size=20)
relations = st.builds(
    Relation,
    st.text(min_size=1, max_size=20),
    names,
    st.sampled_from(KINDS),
    st.one_of(st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True), names),
).filter(lambda relation: fault_of(relation) is None)
notes = names.map(one_line).filter(lambda note: fault_of_note(note) is None)


@given(st.dictionaries(relations, notes, min_size=1, max_size=8), st.booleans())
def test_what_is_written_is_read_again(said: dict[Relation, str], marked: bool) -> None:
    content = written(said).encode("utf-8-sig" if marked else "utf-8")
    found = parse(content, {relation.appid for relation in said})
    assert found.faults == []
    assert found.relations == said


@given(st.dictionaries(relations, notes, min_size=1))
def test_no_cell_is_a_formula(said: dict[Relation, str]) -> None:
    for cells in csv.reader(io.StringIO(written(said), newline="")):
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


@given(st.binary(max_size=300))
def test_whatever_comes_is_read_or_refused(content: bytes) -> None:
    for file in (content, HEAD.encode() + content):
        found = parse(file, {"shop"})
        assert all(fault_of(relation) is None for relation in found.relations)
        assert all(str(fault.sentence) for fault in found.faults)


class TestWhatSpreadsheetsMakeOfIt:
    @pytest.mark.parametrize("separator", [",", ";", "\t"])
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
    def test_other_separators_and_line_ends(self, separator: str, end: str, encoding: str) -> None:
        lines = [COLUMNS, ("商城", "购物车", "consume", "orders", "备注"), ("", "", "", "", "")]
        found = read(end.join(separator.join(line) for line in lines), encoding)
        assert found.faults == []
        assert found.relations == {Relation("商城", "购物车", "consume", "orders"): "备注"}

    def test_columns_in_another_order_and_more_of_them(self) -> None:
        text = (
            "Note,Kind,Resource,InstanceID,AppID\n".replace("InstanceID", "instance_id")
            + "n,GROUP,g,web,shop,,\n"
        )
        assert read(text).relations == {Relation("shop", "web", "group", "g"): "n"}

    def test_a_cell_of_several_lines(self) -> None:
        text = HEAD + 'shop,web,produce,orders,"one\ntwo"\nshop,web,reads,orders,\n'
        assert faults(text) == [(4, "“reads” is no kind of use. Write produce, consume or group.")]


class TestWhatIsWrong:
    def test_every_line_is_told_with_its_number(self) -> None:
        text = HEAD + "\n".join(
            [
                "shop,web,produce,orders,",
                "shpo,web,produce,orders,",
                "",
                "shop,web,writes,orders,",
                "shop,web,produce,,",
                "shop,web,produce,a b,",
                "shop,web,produce,orders,again",
                "shop,web,produce",
                "shop,web,produce,orders,a,b",
                ",web,produce,orders,",
            ]
        )
        found = faults(text)
        assert [line for line, _why in found] == [3, 5, 6, 7, 8, 9, 10, 11]
        assert [why.split(".")[0] for _line, why in found] == [
            "AppID “shpo” is not in this pair",
            "“writes” is no kind of use",
            "Nothing is said to be used",
            "Kafka has no Topic of the name “a b”",
            "Line 2 says the same",
            "This line has 3 cells instead of 5",
            "This line has 6 cells instead of 5",
            "No AppID is named",
        ]

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (b"", "The file is empty."),
            (b"\n \n", "The file is empty."),
            (HEAD.encode() + "购物车".encode("gb18030"), "The file is not in UTF-8. In Excel"),
            (HEAD.encode("utf-16"), "The file is not in UTF-8."),
            (
                b"shop,web,produce,orders,\n",
                "The first line has to be: appid,instance_id,kind,resource,note.",
            ),
            (b"appid,kind,resource\n", "The first line has to be"),
            (b"x" * (MAX_BYTES + 1), "The file is larger than 1000000 bytes. Import it in parts."),
            (HEAD.encode() + b"shop,w,group,g,\n" * (MAX_LINES + 1), "more than 10000 lines."),
        ],
    )
    def test_the_file_as_a_whole(self, content: bytes, why: str) -> None:
        found = parse(content, {"shop"})
        assert len(found.faults) == 1
        assert why in str(found.faults[0].sentence)
        assert found.relations == {}

    @pytest.mark.parametrize("line", ['shop,"web,produce,orders,', 'shop,"web"x,produce,orders,'])
    def test_broken_quotes(self, line: str) -> None:
        [(number, why)] = faults(HEAD + "shop,web,produce,orders,\n" + line)
        assert number == 3
        assert why.startswith("The quotes of this line do not fit.")
