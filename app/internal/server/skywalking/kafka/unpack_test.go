package kafka

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestUnpackerIsBounded: all batches of a fetch share one bound, and the next fetch has it again.
func TestUnpackerIsBounded(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("batch "), 100_000) // 600 KB
	java := append(append([]byte{}, xerial...), 0, 0, 0, 1, 0, 0, 0, 1)
	block := s2.EncodeSnappy(nil, content)
	java = append(append(java, byte(len(block)>>24), byte(len(block)>>16), byte(len(block)>>8), byte(len(block))), block...)
	for name, batch := range map[string]struct {
		data  []byte
		codec kgo.CompressionCodecType
	}{"zstd": {z.EncodeAll(content, nil), kgo.CodecZstd}, "snappy": {block, kgo.CodecSnappy}, "snappy of Java": {java, kgo.CodecSnappy}} {
		u := newUnpacker(1 << 20)
		if got, err := u.Decompress(batch.data, batch.codec); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if _, err := u.Decompress(batch.data, batch.codec); !errors.Is(err, errFull) {
			t.Errorf("%s: the second batch of a fetch: %v", name, err)
		}
		if u.reset(); u.left.Load() != 1<<20 {
			t.Errorf("%s: %d bytes for the next fetch", name, u.left.Load())
		}
		if _, err := newUnpacker(1<<19).Decompress(batch.data, batch.codec); !errors.Is(err, kgo.ErrMaxDecompress) {
			t.Errorf("%s: a batch that no fetch holds: %v", name, err)
		}
		if _, err := u.Decompress(batch.data[:len(batch.data)/2], batch.codec); err == nil {
			t.Errorf("%s: half a batch is decompressed", name)
		}
	}
}

// TestRecordsHaveRoom: records of seven bytes take two hundred each, so a fetch is small.
func TestRecordsHaveRoom(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := z.EncodeAll(bytes.Repeat([]byte("\x0c\x00\x00\x00\x01\x01\x00"), 17<<20/7), nil)
	if out, err := newUnpacker(unpackBytes).Decompress(batch, kgo.CodecZstd); !errors.Is(err, kgo.ErrMaxDecompress) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}
