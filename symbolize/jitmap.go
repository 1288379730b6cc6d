package symbolize

import (
	"bufio"
	"debug/elf"
	"os"
	"path"
	"regexp"
	"sort"
	"strings"

	"github.com/dendroprof/dendro/internal/stacktext"
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
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		start, rest, _ := strings.Cut(lines.Text(), " ")
		size, name, _ := strings.Cut(rest, " ")
		s := elf.Symbol{Name: name}
		var ok [2]bool
		s.Value, ok[0] = stacktext.Hex([]byte(start))
		s.Size, ok[1] = stacktext.Hex([]byte(size))
		if ok[0] && ok[1] && name != "" {
			list = append(list, s)
		}
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Value < list[j].Value })
	return list
}
