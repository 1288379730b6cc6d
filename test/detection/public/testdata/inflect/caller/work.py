"""Writes the lines of orders in words."""
import inflect

ITEMS = "order invoice box city child mouse analysis index leaf bus".split()
engine = inflect.engine()


def describe(item, amount):
    return f"{engine.number_to_words(amount)} {engine.plural(item, amount)}"


def write_order(number):
    lines = [describe(item, number % 7 + i) for i, item in enumerate(ITEMS)]
    return "; ".join(lines).capitalize()


for number in range(5500):
    text = write_order(number)
print(text)
