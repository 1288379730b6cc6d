package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/traceprof"
)

// Names of the members.
const (
	basicName    = "basic.yml"
	snapshotName = "snapshot.data"
	folder       = "./work/"
)

// Write writes an archive. The output is deterministic.
func Write(w io.Writer, a *Archive) error {
	basic, err := basicOf(a).encode()
	if err != nil {
		return err
	}
	var data bytes.Buffer
	for i := range a.Segments {
		writeSnapshots(&data, &a.Segments[i].Snapshots)
	}
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	member := func(name string, mode int64, kind byte, content []byte) error {
		err := t.WriteHeader(&tar.Header{Name: folder + name, Mode: mode, Typeflag: kind, Size: int64(len(content)), ModTime: a.end()})
		if err != nil {
			return err
		}
		_, err = t.Write(content)
		return err
	}
	return errors.Join(
		member("", 0o755, tar.TypeDir, nil),
		member(basicName, 0o644, tar.TypeReg, basic),
		member(snapshotName, 0o644, tar.TypeReg, data.Bytes()),
		t.Close(), z.Close())
}

// end returns when the trace ended.
func (a *Archive) end() time.Time {
	var end int64
	for i := range a.Segments {
		end = max(end, a.Segments[i].End)
	}
	return time.UnixMilli(min(end, 1<<42)) // tar can encode the year 2242
}

// writeSnapshots appends the snapshots of a segment.
func writeSnapshots(b *bytes.Buffer, s *traceprof.Snapshots) {
	var path []int32
	var stack, message, head []byte
	for i := range s.Sequence {
		path, stack = path[:0], stack[:0]
		for p := s.Path[i]; p != calltree.NoNode; p = s.Stacks.Paths.Parent[p] {
			path = append(path, p)
		}
		for j := len(path) - 1; j >= 0; j-- {
			stack = wire.AppendBytes(stack, 1, s.Stacks.Functions[s.Stacks.Paths.Item[path[j]]].Name)
		}
		message = wire.AppendBytes(message[:0], fieldTask, s.Task)
		message = wire.AppendBytes(message, fieldSegment, s.Segment)
		message = wire.AppendInt(message, fieldTime, uint64(s.Time[i]))
		message = wire.AppendInt(message, fieldSequence, uint64(int64(s.Sequence[i])))
		message = wire.AppendBytes(message, fieldStack, stack)
		head = binary.AppendUvarint(head[:0], uint64(len(message)))
		b.Write(head)
		b.Write(message)
	}
}
