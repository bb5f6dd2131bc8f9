"""Tables of text."""


def as_table(rows: list[list[str]]) -> str:
    """Return rows of cells as lines, with columns of numbers to the right and others to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    right = [all(_number(row[column]) for row in rows[1:]) for column in range(len(widths))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if side else cell.ljust(width)
            for cell, width, side in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    )


def _number(cell):
    return cell.replace(".", "", 1).replace(",", "").isdigit()
