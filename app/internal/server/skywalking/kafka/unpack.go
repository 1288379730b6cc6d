package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// unpacker decompresses batches of records. It bounds all batches of a fetch together: the
// client of Kafka bounds each batch only, and a fetch has room for thousands of small ones that
// grow a thousandfold.
type unpacker struct {
	most int64        // bytes of a fetch
	left atomic.Int64 // of this fetch
}

func newUnpacker(most int64) *unpacker {
	u := &unpacker{most: most}
	u.reset()
	return u
}

// reset begins a new fetch.
func (u *unpacker) reset() { u.left.Store(u.most) }

// errFull is the error for a batch that is read with the next fetch.
var errFull = errors.New("the batches of this fetch take too much memory; the rest is fetched again")

// Decompress implements kgo.Decompressor. A batch that no fetch has room for is an error that
// wraps kgo.ErrMaxDecompress.
func (u *unpacker) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if codec == kgo.CodecNone {
		return src, nil
	}
	left := u.left.Load()
	out, err := unpack(src, codec, left)
	if errors.Is(err, kgo.ErrMaxDecompress) && left < u.most {
		return nil, errFull
	}
	u.left.Add(-int64(len(out)))
	return out, err
}

// unpack decompresses at most a number of bytes.
func unpack(src []byte, codec kgo.CompressionCodecType, most int64) ([]byte, error) {
	var in io.Reader
	switch codec {
	case kgo.CodecGzip:
		z, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, err
		}
		in = z
	case kgo.CodecSnappy:
		return unpackSnappy(src, most)
	case kgo.CodecLz4:
		in = lz4.NewReader(bytes.NewReader(src))
	case kgo.CodecZstd:
		z, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(32<<20))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	default:
		return nil, fmt.Errorf("compression %d is not known", codec)
	}
	out, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(out)) > most {
		return nil, kgo.ErrMaxDecompress
	}
	return out, err
}

// xerial begins blocks of snappy as Java writes them.
var xerial = []byte{130, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

// unpackSnappy decompresses one block, or the blocks of Java's stream.
func unpackSnappy(src []byte, most int64) (out []byte, err error) {
	block := func(b []byte) error {
		n, err := s2.DecodedLen(b)
		if err != nil {
			return err
		}
		if int64(len(out))+int64(n) > most {
			return kgo.ErrMaxDecompress
		}
		part, err := s2.Decode(nil, b)
		out = append(out, part...)
		return err
	}
	if !bytes.HasPrefix(src, xerial) {
		return out, block(src)
	}
	for src = src[min(16, len(src)):]; len(src) > 0; {
		if len(src) < 4 || int64(binary.BigEndian.Uint32(src)) > int64(len(src)-4) {
			return nil, errors.New("a block of snappy is cut")
		}
		n := binary.BigEndian.Uint32(src)
		if err := block(src[4 : 4+n]); err != nil {
			return nil, err
		}
		src = src[4+n:]
	}
	return out, nil
}
