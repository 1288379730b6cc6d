"""Fits titles into columns of a terminal."""
from wcwidth import wcswidth

TITLES = ["The old man and the sea", "コンニチハ, セカイ!", "Über den Wolken", "война и мир", "三国演义 (罗贯中)", "café au lait"]


def shorten(title, width):
    while wcswidth(title) > width:
        title = title[:-1]
    return title


def column(titles, width):
    lines = []
    for title in titles:
        short = shorten(title, width)
        lines.append(short + " " * (width - wcswidth(short)))
    return "\n".join(lines)


for page in range(26000):
    text = column(TITLES, 12 + page % 5)
print(len(text))
