module example.com/runewidth

go 1.24

require github.com/mattn/go-runewidth v0.0.13
