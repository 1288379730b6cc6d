package server

import (
	"bytes"
	"context"
	"io"

	"github.com/klauspost/compress/gzip"
)

// spoolBlock is the size of the blocks of a spool.
const spoolBlock = 64 << 10

// spool keeps an answer in memory until it is sent. It is compressed, unless it is already:
// a large answer is a tree or a table of names, of which a tenth remains.
type spool struct {
	ctx    context.Context
	memory *holding
	blocks []*bytes.Buffer // the last one is being filled
	packed *gzip.Writer    // nil: the answer is kept as it is
}

func newSpool(ctx context.Context, memory *holding, pack bool) *spool {
	s := &spool{ctx: ctx, memory: memory}
	if pack {
		s.packed, _ = gzip.NewWriterLevel(blocks{s}, gzip.BestSpeed) // the level is valid
	}
	return s
}

// write adds bytes. It waits for memory, for a time.
func (s *spool) write(b []byte) (err error) {
	if s.packed != nil {
		_, err = s.packed.Write(b)
	} else {
		_, err = blocks{s}.Write(b)
	}
	return err
}

// blocks writes and reads the blocks of a spool.
type blocks struct{ *spool }

func (s blocks) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		k := len(s.blocks) - 1
		if k < 0 || s.blocks[k].Len() == spoolBlock {
			if err := s.memory.acquire(s.ctx, spoolBlock); err != nil {
				return n, err
			}
			s.spool.blocks = append(s.spool.blocks, bytes.NewBuffer(make([]byte, 0, spoolBlock)))
			k++
		}
		part := b[:min(len(b), spoolBlock-s.blocks[k].Len())]
		s.blocks[k].Write(part)
		n, b = n+len(part), b[len(part):]
	}
	return n, nil
}

// Read reads, and frees the memory of what was read.
func (s blocks) Read(b []byte) (int, error) {
	for len(s.blocks) > 0 {
		if n, err := s.blocks[0].Read(b); err == nil {
			return n, nil
		}
		s.spool.blocks = s.blocks[1:]
		s.memory.release(spoolBlock)
	}
	return 0, io.EOF
}

// send passes the answer to transmit, part by part.
func (s *spool) send(transmit func([]byte) (int, error)) error {
	defer s.drop()
	in := io.Reader(blocks{s})
	if s.packed != nil {
		if err := s.packed.Close(); err != nil {
			return err
		}
		s.packed = nil // it has memory of its own
		var err error
		if in, err = gzip.NewReader(in); err != nil {
			return err
		}
	}
	part := make([]byte, sendBytes)
	for {
		n, err := in.Read(part)
		if n > 0 {
			if _, err := transmit(part[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// drop frees the memory.
func (s *spool) drop() {
	s.memory.release(int64(len(s.blocks)) * spoolBlock)
	s.blocks, s.packed = nil, nil
}
