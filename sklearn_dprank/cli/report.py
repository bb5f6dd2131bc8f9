"""One self-contained HTML page about a release: ranking, intervals, their meaning, and the guarantee."""

from __future__ import annotations

from html import escape
from string import Template
from typing import Any

from .files import about_unranked
from .segments import title

_PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$title</title>
<style>
:root { --text: #1b1f24; --page: #ffffff; --soft: #5a6472; --line: #d8dde3; --track: #eef1f4; --bar: #56b4e9;
  --dot: #003f66; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ed; --page: #14181d; --soft: #a3adb9; --line: #353d47;
  --track: #232a32; --bar: #2f79a8; --dot: #ffffff; } }
body { margin: 0 auto; max-width: 44rem; padding: 1.5rem 1rem 3rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--text); background: var(--page); overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .4rem; }
p, li { max-width: 40rem; }
.soft, caption { color: var(--soft); }
table { width: 100%; border-collapse: collapse; margin-top: 1rem; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { text-align: left; padding: .4rem .5rem .4rem 0; border-bottom: 1px solid var(--line); }
thead th { font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 600; }
.rank { width: 3.2rem; font-variant-numeric: tabular-nums; }
.ends { width: 45%; font-variant-numeric: tabular-nums; }
.track { display: block; position: relative; height: .8rem; margin-top: .15rem; background: var(--track);
  border-radius: .2rem; }
.bar { position: absolute; top: 0; bottom: 0; background: var(--bar); border-radius: .2rem; }
.dot { position: absolute; top: .15rem; width: .5rem; height: .5rem; margin-left: -.25rem; background: var(--dot);
  border-radius: 50%; }
.note { border-left: .25rem solid var(--bar); padding-left: .8rem; }
details { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .8rem; }
summary { cursor: pointer; font-weight: 600; }
</style>
</head>
<body>
<main>
<h1>$title</h1>
<p class="soft">$guarantee</p>
$example$tables
<h2>What this means</h2>
$meaning
<details>
<summary>Technical statement of the guarantee</summary>
<ul>
$statement
</ul>
</details>
</main>
</body>
</html>
""")

_PERCENT = "\N{NO-BREAK SPACE}%"


def page(made: dict[str, Any], *, best: bool = False) -> str:
    """Return the page of a release from the data that ``dprank rank --format json`` prints.

    Every value on the page is published. `best` says that only the best items are ranked.
    """
    several = made.get("segments")
    n_items = len((several[0] if several else made)["consensus"])
    plainly, *topics = made["privacy"]["statement"]
    example = "<p class='note'><strong>Example:</strong> the votes are simulated. Nobody voted.</p>\n"
    return _PAGE.substitute(
        title=f"The best {n_items} in order" if best else f"Ranking of {n_items} items",
        guarantee=escape(_budget(made["privacy"])),
        example=example if made["simulated"] else "",
        tables="\n".join(_ranking(each, title(each)) for each in several) if several else _ranking(made, ""),
        meaning="\n".join(f"<p>{escape(text).replace(' %', _PERCENT)}</p>" for text in _meaning(made, plainly)),
        statement="\n".join(f"<li>{escape(topic)}</li>" for topic in topics),
    )


def _budget(privacy):
    """Return the numbers of the guarantee."""
    delta = f", delta\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{privacy['delta']:g}" if privacy["delta"] else ""
    return (
        "Published with differential privacy: "
        f"epsilon\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{privacy['epsilon']:.6g}{delta}"
    )


def _ranking(made, about):
    """Return one ranking as a table, with a heading if there are several."""
    ends = made.get("intervals", {})
    head = f"<h2 dir='auto'>{escape(about)}</h2>\n" if about else ""
    column = "<th scope='col' class='ends'>Rank without noise</th>" if ends else ""
    rows = "\n".join(
        f"<tr><td class='rank'>{rank}</td><th scope='row' dir='auto'>{escape(item)}</th>"
        f"{_interval(rank, ends[item], len(ends)) if ends else ''}</tr>"
        for rank, item in enumerate(made["consensus"], start=1)
    )
    columns = f"<tr><th scope='col' class='rank'>Rank</th><th scope='col'>Item</th>{column}</tr>"
    return f"{head}<table>\n<thead>{columns}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _interval(rank, ends, n_items):
    """Return the cell of an interval: its text, and a bar on a scale of all ranks, with a dot at the rank."""
    best, worst = ends
    text = f"{best}" if best == worst else f"{best} to {worst}"
    left, wide, dot = (f"{100 * part / n_items:.4g}%" for part in (best - 1, worst - best + 1, rank - 0.5))
    return (
        f"<td class='ends'>{text}<span class='track' aria-hidden='true'>"
        f"<span class='bar' style='left:{left};width:{wide}'></span><span class='dot' style='left:{dot}'></span></span>"
        "</td>"
    )


def _percent(share):
    """Return a share below 1 in percent; it never shows as 100."""
    return f"{min(round(100 * share, 4), 99.9999):g}"


def _meaning(made, plainly):
    """Return paragraphs for lay readers."""
    texts = ["Random noise was added to protect the voters. It may have changed the order."]
    if "level" in made:
        texts.append(
            "Each bar shows the ranks that an item may have without the noise, and the dot shows its rank here. The "
            f"probability that all bars are right is at least {_percent(made['level'])} %. If the bars of two items "
            "overlap, the noise may have decided their order."
        )
        if "segments" in made:
            texts.append(
                "The ranking of a group also uses the answers of the other groups, as far as they are alike. Its bars "
                "come from the answers of the group alone, so a dot may be outside of its bar. Numbers of votes are "
                "not exact, because they have noise, too."
            )
        texts.append("The bars describe those who voted, and do not show how other people would vote.")
    else:
        texts.append("This method publishes the order only, and no bars that show the effect of the noise.")
    texts.append(plainly)
    if made["unranked"] is not None:
        texts.append(f"{about_unranked(made['unranked']).partition(' (')[0]}.")
    if "max_weight" in made:
        texts.append(f"Each person counts for at most {made['max_weight']:g} vote{'s' * (made['max_weight'] != 1)}.")
    return texts
