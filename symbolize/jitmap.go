package symbolize

import (
	"bufio"
	"cmp"
	"debug/elf"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// jitMap is the name of the file in which a JIT compiler tells perf of its code.
var jitMap = regexp.MustCompile(`^perf-[0-9]+\.map$`)

// findMap reads the map of a JIT compiler, nil if there is none.
func (z *Symbolizer) findMap(name string) *binary {
	if !jitMap.MatchString(path.Base(name)) {
		return nil
	}
	for _, file := range z.candidates(name, "") {
		if list := readMap(file); len(list) > 0 {
			return &binary{symbols: list}
		}
	}
	return nil
}

// readMap reads lines of an address, a size and a name: `7f3a10 40 LazyCompile:~hot a.js:3`.
// Code is moved and dropped: of several at an address the last one is first in the result.
func readMap(file string) (list []elf.Symbol) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil // anybody may create a pipe of that name in /tmp
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		start, rest, _ := strings.Cut(lines.Text(), " ")
		size, name, _ := strings.Cut(rest, " ")
		s := elf.Symbol{Name: name}
		var errs [2]error
		s.Value, errs[0] = strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
		s.Size, errs[1] = strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
		if errs == [2]error{} && name != "" {
			list = append(list, s)
		}
	}
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return list
}
