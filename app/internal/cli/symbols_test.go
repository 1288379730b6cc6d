package cli

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSymbols names the functions of a heap profile that has an address of this process: views,
// conversions, merges and imports alike.
func TestSymbols(t *testing.T) {
	address := addressOfSort(t)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "x.heap")
	text := fmt.Sprintf("heap profile: 1: 2 [1: 2] @ heapprofile\n1: 2 [1: 2] @ %#x\n\nMAPPED_LIBRARIES:\n%s", address+1, maps)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "x.dendro")
	for _, args := range [][]string{
		{"top", file}, {"tree", file}, {"convert", file, "-o", "-", "--format", "folded"}, {"merge", file},
		{"import", "--store", store, "--run", "r", "--benchmark", "b", file}, {"top", "--store", store, "--benchmark", "b"},
	} {
		if args[1] != "--store" || args[0] == "import" {
			args = append(args, "--symbols", "/")
		}
		var out, talk bytes.Buffer
		if status := Main(args, strings.NewReader(""), &out, &talk); status != 0 {
			t.Fatalf("%q: %d: %s", args, status, &talk)
		}
		if args[0] != "import" && !strings.Contains(out.String(), "qsort") {
			t.Errorf("%q: %s%s", args, &out, &talk)
		}
	}
}

// addressOfSort returns where this process has qsort of its C library.
func addressOfSort(t *testing.T) uint64 {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	m := regexp.MustCompile(`(?m)^([0-9a-f]+)-\S+ r-xp ([0-9a-f]+) .* (/\S+/libc\.so\.6)$`).FindSubmatch(maps)
	if m == nil {
		t.Skip("no C library in this process")
	}
	start, _ := strconv.ParseUint(string(m[1]), 16, 64)
	offset, _ := strconv.ParseUint(string(m[2]), 16, 64)
	f, err := elf.Open(string(m[3]))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Skip(err)
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == "qsort" })
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && i >= 0 && symbols[i].Value >= p.Vaddr && symbols[i].Value-p.Vaddr < p.Filesz {
			return start + symbols[i].Value - p.Vaddr + p.Off - offset
		}
	}
	t.Skip("no qsort in the C library")
	return 0
}
