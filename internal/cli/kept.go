package cli

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/profile"
)

// keptFiles holds decoded files between the commands of a batch, up to an
// estimated size; the one used longest ago goes first. A nil *keptFiles keeps
// nothing. It is not safe for concurrent use.
type keptFiles struct {
	room  int64
	files []keptFile // the last used at the end
}

// keptRoom bounds the memory of decoded files, as estimated by sizeOf.
const keptRoom = 2 << 30

type keptFile struct {
	key  keptKey
	list []recording
	size int64
}

// keptKey says when a decoded file may be used again: same content, as far as the
// file system tells, read in the same way.
type keptKey struct {
	name      string
	mtime     time.Time
	size      int64
	normalize bool
	limits    profile.Limits
}

// key returns the key of a source; false for streams and when nothing is kept.
func (k *keptFiles) key(source *ingest.Source, in *input) (keptKey, bool) {
	if k == nil || source.Mtime.IsZero() {
		return keptKey{}, false
	}
	name, err := filepath.Abs(source.Name)
	info, statErr := os.Stat(source.Name)
	if err != nil || statErr != nil {
		return keptKey{}, false
	}
	return keptKey{name, info.ModTime(), info.Size(), in.normalize, in.limits}, true
}

func (k *keptFiles) get(key keptKey) ([]recording, bool) {
	if k == nil || key.name == "" {
		return nil, false
	}
	i := slices.IndexFunc(k.files, func(f keptFile) bool { return f.key == key })
	if i < 0 {
		return nil, false
	}
	f := k.files[i]
	k.files = append(slices.Delete(k.files, i, i+1), f)
	return f.list, true
}

func (k *keptFiles) put(key keptKey, list []recording, size int64) {
	k.files = slices.DeleteFunc(k.files, func(f keptFile) bool { return f.key.name == key.name })
	if size > k.room {
		return
	}
	k.files = append(k.files, keptFile{key, list, size})
	for sum := k.size(); sum > k.room; sum = k.size() {
		k.files = slices.Delete(k.files, 0, 1)
	}
}

func (k *keptFiles) size() (sum int64) {
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
