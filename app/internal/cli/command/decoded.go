package command

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/lru"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/trees"
)

// DecodedFiles caches decoded files between the commands of a batch, up to an estimated
// size. A nil *DecodedFiles caches nothing. It is not safe for concurrent use.
type DecodedFiles struct {
	files lru.Cache[decodedKey, []trees.Input]
}

// decodedRoom bounds the memory of decoded files, as estimated by sizeOf.
const decodedRoom = 2 << 30

// NewDecodedFiles returns the cache of a batch.
func NewDecodedFiles() *DecodedFiles {
	k := &DecodedFiles{}
	k.files.Reset(decodedRoom)
	return k
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
		symbols: strings.Join(in.dirs, "\x00")}, true
}

func (k *DecodedFiles) get(key decodedKey) ([]trees.Input, bool) {
	if k == nil {
		return nil, false
	}
	return k.files.Get(key)
}

// put keeps a file, unless it has no room beside others.
func (k *DecodedFiles) put(key decodedKey, list []trees.Input, size int64) {
	if size <= k.files.Limit() {
		k.files.Put(key, list, size)
	}
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
