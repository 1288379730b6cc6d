"""Prints the newest release of each line of a package."""
from packaging.version import Version

TAGS = [f"{a}.{b}.{c}" for a in range(5) for b in range(8) for c in range(5)]


def read_tags(tags):
    return [tag.strip() for tag in tags if not tag.startswith("#")]


def newest(tags):
    return max(Version(tag) for tag in tags)


def report(tags):
    lines = []
    for line in range(5):
        of = [tag for tag in tags if tag.startswith(f"{line}.")]
        lines.append(f"{line}: {newest(of)}, {len(of)} releases")
    return "\n".join(lines)


for _ in range(1400):
    text = report(read_tags(TAGS))
print(text)
