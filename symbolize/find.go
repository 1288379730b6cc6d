package symbolize

import (
	"cmp"
	"debug/elf"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// binary returns the file of a module, nil if there is none.
func (z *Symbolizer) binary(m profile.Module) *binary {
	key := binaryKey{m.Path, strings.ToLower(m.BuildID)}
	b, known := z.binaries[key]
	if !known {
		if b = z.findMap(key.path); b == nil {
			b = z.find(key.path, key.buildID)
		}
		z.binaries[key] = b
	}
	return b
}

// find opens the file of a module, and the file with its debug information if that is
// another.
func (z *Symbolizer) find(path, buildID string) *binary {
	var found *binary
	for _, name := range z.candidates(path, buildID) {
		f := openELF(name, buildID)
		if f == nil {
			continue
		}
		if found == nil {
			found = &binary{code: f}
		}
		if f.Section(".debug_info") != nil || f.Section(".zdebug_info") != nil {
			found.debug = f
			break
		}
		if buildID == "" {
			// The debug file is that of this very build.
			if buildID = buildIDOf(f); buildID == "" {
				break
			}
			if d := z.find(path, buildID); d != nil && d.debug != nil {
				found.debug = d.debug
			}
			break
		}
	}
	if found != nil {
		found.index()
	}
	return found
}

// candidates lists the files that may be those of a module: by build id as debuginfod's
// cache and /usr/lib/debug have them, by path below a directory, by name in it.
func (z *Symbolizer) candidates(path, buildID string) (names []string) {
	path = filepath.Clean("/" + filepath.ToSlash(strings.TrimSuffix(path, " (deleted)")))
	for _, dir := range z.dirs {
		if path != "/" {
			names = append(names, filepath.Join(dir, path), filepath.Join(dir, filepath.Base(path)))
		}
		if len(buildID) > 2 && strings.Trim(buildID, "0123456789abcdef") == "" {
			split := filepath.Join(".build-id", buildID[:2], buildID[2:])
			names = append(names, filepath.Join(dir, buildID, "executable"), filepath.Join(dir, split),
				filepath.Join(dir, buildID, "debuginfo"), filepath.Join(dir, split+".debug"),
				filepath.Join(dir, "usr/lib/debug", split+".debug"), filepath.Join(dir, buildID))
		}
		if path != "/" {
			names = append(names, filepath.Join(dir, "usr/lib/debug", path+".debug"),
				filepath.Join(dir, filepath.Dir(path), ".debug", filepath.Base(path)+".debug"), filepath.Join(dir, filepath.Base(path)+".debug"))
		}
	}
	return names
}

// openELF opens a file, nil if it is none of that build. It is kept open for as long as
// the program runs.
func openELF(name, buildID string) *elf.File {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := elf.Open(name)
	if err != nil {
		return nil
	}
	if has := buildIDOf(f); buildID != "" && has != "" && has != buildID {
		f.Close()
		return nil
	}
	return f
}

// buildIDOf returns the GNU build id of a file in hexadecimal, "" if it has none.
func buildIDOf(f *elf.File) string {
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	note, err := s.Data()
	const head = 16 // sizes of name and content, type, "GNU\0"
	if err != nil || len(note) <= head {
		return ""
	}
	size := f.ByteOrder.Uint32(note[4:])
	if uint64(size) > uint64(len(note)-head) {
		return ""
	}
	return hex.EncodeToString(note[head : head+size])
}

// sortedByCount returns the keys with the largest counts first.
func sortedByCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
}
