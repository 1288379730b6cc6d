"""Writes the notes of releases as pages."""
import markdown

NOTE = """# Release {n}

*New*: the **list** of `changes` has a [page](https://example.com/{n}).

1. Faster start
2. Less memory, see [notes](n.md)

    code --with {n}

> Thanks to all who tried it.
"""


def note(n):
    return NOTE.format(n=n)


def page(n):
    return markdown.markdown(note(n), extensions=["tables", "toc"])


def size(n):
    return len(page(n))


print(sum(size(n) for n in range(1900)))
