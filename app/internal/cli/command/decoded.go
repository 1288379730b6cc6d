package command

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/trees"
)

// DecodedFiles caches decoded files between the commands of a batch, up to an estimated
// size, and evicts the least recently used. A nil *decodedFiles caches nothing. It is not
// safe for concurrent use.
type DecodedFiles struct {
	room  int64
	files []decodedFile // the last used at the end
}

// decodedRoom bounds the memory of decoded files, as estimated by sizeOf.
const decodedRoom = 2 << 30

// NewDecodedFiles returns the cache of a batch.
func NewDecodedFiles() *DecodedFiles { return &DecodedFiles{room: decodedRoom} }

type decodedFile struct {
	key  decodedKey
	list []trees.Input
	size int64
}

// decodedKey identifies a decoded file: equal keys mean the same content, as far as the
// file system tells, decoded in the same way.
type decodedKey struct {
	name    string
	mtime   time.Time
	size    int64
	names   trees.Names
	limits  profile.Limits
	symbols string
}

// key returns the key of a source; false for streams and when nothing is kept.
func (k *DecodedFiles) key(source *ingest.Source, in *FileFlags) (decodedKey, bool) {
	if k == nil || source.Mtime.IsZero() {
		return decodedKey{}, false
	}
	name, err := filepath.Abs(source.Name)
	info, statErr := os.Stat(source.Name)
	if err != nil || statErr != nil {
		return decodedKey{}, false
	}
	return decodedKey{name: name, mtime: info.ModTime(), size: info.Size(), names: in.names(), limits: in.Limits,
		symbols: in.symbols.String()}, true
}

func (k *DecodedFiles) get(key decodedKey) ([]trees.Input, bool) {
	if k == nil || key.name == "" {
		return nil, false
	}
	i := slices.IndexFunc(k.files, func(f decodedFile) bool { return f.key == key })
	if i < 0 {
		return nil, false
	}
	f := k.files[i]
	k.files = append(slices.Delete(k.files, i, i+1), f)
	return f.list, true
}

func (k *DecodedFiles) put(key decodedKey, list []trees.Input, size int64) {
	k.files = slices.DeleteFunc(k.files, func(f decodedFile) bool { return f.key.name == key.name })
	if size > k.room {
		return
	}
	k.files = append(k.files, decodedFile{key, list, size})
	for sum := k.size(); sum > k.room; sum = k.size() {
		k.files = slices.Delete(k.files, 0, 1)
	}
}

func (k *DecodedFiles) size() (sum int64) {
	for i := range k.files {
		sum += k.files[i].size
	}
	return sum
}

// sizeOf estimates the bytes of a decoded profile and of the views on it, which
// have a few words per stack and per sample.
func sizeOf(p *profile.Profile) int64 {
	size := int64(64*p.Symbols.Stacks.Len() + 48*len(p.Symbols.Frames))
	for i := range p.Symbols.Functions {
		f := &p.Symbols.Functions[i]
		size += int64(128 + len(f.Name) + len(f.File) + len(f.SystemName))
	}
	for i := range p.Tables {
		size += int64(64 * p.Tables[i].Len())
	}
	return size + int64(64*len(p.Markers))
}
