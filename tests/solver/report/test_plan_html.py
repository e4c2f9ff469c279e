"""Plans as a page: one file that runs and loads nothing, and says what the text says."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from support.plans import REQUEST, interrupted_plan, model_plan, six_blocks, stopped_plan, unknown_plan
from support.problems import problem_of

from solver.effort import Effort
from solver.planning import Plan, plan
from solver.report.plan_html import plan_html
from solver.report.plan_html_style import STYLE
from solver.report.plan_json import PlanInputs, plan_document
from solver.report.plan_view import plan_view
from solver.report.terminal import Styled, escape
from solver.version import VERSION

if TYPE_CHECKING:
    from solver.report.grid import Grid

_VOID = ("meta", "rect")

WHOLE = f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Whether 2 blocks fit on these 2 nodes is not known: the limits ran out first.</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1><span class="mark bad">?</span>Whether 2 blocks fit on these 2 nodes is not known: the limits ran out first.</h1>
<section class="objectives">
<h2>Objectives</h2>
<div class="wide"><table>
<tbody>
<tr><td>nodes</td><td>not known</td><td>at least 2</td><td class="faint">nodes that hold a stage</td></tr>
</tbody></table></div>
</section>
<section>
<h2>Asked</h2>
<dl>
<dt>to place</dt><dd>2 blocks, 14 B (weights 14 B) on 2 nodes, budget 22 B</dd>
</dl>
</section>
<footer>
<p>layerfit {VERSION}: unknown, solved in 60.00 s</p>
<details>
<summary>The plan as JSON, exact to the byte</summary>
<pre>{{
  &quot;solver&quot;: {{
    &quot;wall_ms&quot;: 60000
  }}
}}</pre>
</details>
</footer>
</main>
</body>
</html>
"""


class Page(HTMLParser):
    """What a browser would make of a page: elements that are open, those seen, their attributes and their text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        self.tags.add(tag)
        self.attributes += attrs
        self.texts.setdefault(tag, [])
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        """Close the element opened last, which must be this one."""
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        """Add text to every element around it."""
        for tag in set(self.open):
            self.texts[tag].append(data)

    def text_of(self, tag: str) -> str:
        """Return all text inside elements of this kind."""
        return "".join(self.texts.get(tag, []))


def document_of(found: Plan, *, timings: bool = False) -> dict[str, Any]:
    inputs = PlanInputs(model=None, model_path=None, effort=Effort(60.0, None, 8, 0), options=())
    return plan_document(found, inputs, timings=timings)


def page_of(found: Plan, *, timings: bool = False) -> str:
    return plan_html(found, document_of(found, timings=timings))


EVERY_OUTCOME = [
    model_plan(six_blocks(), replace(REQUEST, context_tokens=65536)),
    model_plan(six_blocks(), replace(REQUEST, context_tokens=131072)),
    stopped_plan(interrupted=True),
    stopped_plan(interrupted=False, bound=None),
    unknown_plan(interrupted=False),
    interrupted_plan(),
    plan(problem_of((9,), (5,))),
]


@pytest.mark.parametrize("found", EVERY_OUTCOME)
def test_the_page_says_everything_that_the_text_says(found: Plan) -> None:
    view = plan_view(found, timings=False)
    facts = (*view.unused, *view.request)
    grids = [grid for grid in (view.objectives, view.stages, view.seams, view.check) if grid is not None]
    sentences = [
        view.headline,
        *view.remarks,
        *view.reasons,
        *(text for fact in facts for text in (fact.word, fact.sentence)),
        *(cell for grid in grids for cell in cells_of(grid)),
        *([] if view.verdict is None else [view.verdict]),
        *view.notes,
    ]
    shown = Page(page_of(found)).text_of("main")

    assert [] == [sentence for sentence in sentences if escape(sentence) not in shown]


@pytest.mark.parametrize("found", EVERY_OUTCOME)
def test_the_page_is_one_file_that_runs_and_loads_nothing(found: Plan) -> None:
    page = Page(page_of(found))

    assert [] == page.open
    assert set() == page.tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "a"}
    assert [] == [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert "url(" not in page.text_of("style")
    assert "@import" not in page.text_of("style")


@pytest.mark.parametrize("found", EVERY_OUTCOME)
def test_the_document_is_inside_as_it_is(found: Plan) -> None:
    document = document_of(found, timings=True)

    assert document == json.loads(Page(plan_html(found, document)).text_of("pre"))


def test_the_page_of_a_search_without_an_answer_is_just_this() -> None:
    assert WHOLE == plan_html(unknown_plan(interrupted=False), {"solver": {"wall_ms": 60_000}})


def test_names_are_text_on_the_page_and_never_markup() -> None:
    hostile = "</pre></style><script>alert('1')</script>&amp;\"\x1b\u202e"
    problem = problem_of((3, 3), (3, 3, 3))
    nodes = tuple(replace(node, name=f"{number}{hostile}") for number, node in enumerate(problem.nodes))
    abstract = plan(replace(problem, nodes=nodes))
    model = replace(model_plan(six_blocks(hostile)), notes=(hostile,))

    for found in (abstract, model):
        page = Page(page_of(found))

        assert [] == page.open
        assert "script" not in page.tags
        assert escape(hostile) in page.text_of("main")
        assert not any(character in page_of(found) for character in "\x1b\u202e")
    assert f"{escape(hostile)} fits on 2 of 4 nodes, proved optimal by closed form." == Page(page_of(model)).text_of(
        "title"
    )
    assert [f"{number}{escape(hostile)}" for number in (0, 1)] == [
        text for text in Page(page_of(abstract)).texts["td"] if "alert" in text
    ]


def test_both_colour_schemes_are_served() -> None:
    assert "color-scheme: light dark;" in STYLE
    assert "@media (prefers-color-scheme: dark)" in STYLE


def test_times_stand_on_the_page_where_the_document_has_them() -> None:
    one, other = stopped_plan(interrupted=False, wall_ms=1), stopped_plan(interrupted=False, wall_ms=2)

    assert page_of(one) == page_of(other)
    assert f"layerfit {VERSION}: feasible, solved in 2 ms" in Page(page_of(other, timings=True)).text_of("footer")
    assert f"layerfit {VERSION}" == Page(page_of(other)).text_of("footer").strip().splitlines()[0]


def cells_of(grid: Grid) -> list[str]:
    cells = [cell.text if isinstance(cell, Styled) else cell for row in grid.rows for cell in row]
    return [*grid.titles, *cells, *([] if grid.bars is None else [grid.bars.title, *grid.bars.parts])]
