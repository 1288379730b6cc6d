package archtest

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxLine = 140 // characters of a line of Go; a tab counts as one
	// What a string says must stay one searchable piece: the characters of a longer one, or of
	// such a word in a comment, do not count, and neither do the blanks with which gofmt aligns.
	maxText = 60
)

// TestLineLength finds lines of code that do not fit on a screen.
func TestLineLength(t *testing.T) {
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") && base != "..") {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil || bytes.Contains(src[:min(len(src), 300)], []byte("// Code generated ")) {
			return err
		}
		place, err := filepath.Rel(root, name)
		for _, line := range longLines(src) {
			t.Errorf("%s:%d: more than %d characters", place, line, maxLine)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// longLines returns the lines of a Go file that are too long, from 1.
func longLines(src []byte) (list []int) {
	lines := bytes.Split(src, []byte("\n"))
	widths := make([]int, len(lines))
	for i, line := range lines {
		widths[i] = utf8.RuneCount(line)
		for at := range max(0, len(line)-1) {
			if line[at] == ' ' && line[at+1] == ' ' {
				widths[i]--
			}
		}
	}
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(src))
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		at := file.Line(pos) - 1
		switch {
		case kind == token.STRING && utf8.RuneCountInString(text) > maxText:
			for i, part := range strings.Split(text, "\n") {
				widths[at+i] -= utf8.RuneCountInString(part)
			}
		case kind == token.COMMENT: // an address, or an output that an example shows
			for _, word := range strings.Fields(text) {
				if n := utf8.RuneCountInString(word); n > maxText && !strings.Contains(text, "\n") {
					widths[at] -= n
				}
			}
		}
	}
	for i, width := range widths {
		if width > maxLine {
			list = append(list, i+1)
		}
	}
	return list
}

func TestLongLines(t *testing.T) {
	words := strings.Repeat("word ", 40)
	for _, tt := range []struct {
		line string
		long bool
	}{
		{"var a = f(" + strings.Repeat("x, ", 42) + "x)", false},
		{"var a = f(" + strings.Repeat("x, ", 44) + "x)", true},
		{"var a = `" + words + "`", false},
		{"var a = f(" + strings.Repeat(`"x", `, 30) + ")", true},
		{"var a = `" + words + "\n" + words + "` + f(" + strings.Repeat("x, ", 60) + "x)", true},
		{"var a = 1" + strings.Repeat(" ", 200) + "// aligned", false},
		{"// " + words, true},
		{"// " + strings.Repeat("x", 200), false},
	} {
		lines := longLines([]byte("package p\n\n" + tt.line + "\n"))
		if got := slices.Contains(lines, 3) || slices.Contains(lines, 4); got != tt.long {
			t.Errorf("%s: %v, want long %v", tt.line, lines, tt.long)
		}
	}
}
