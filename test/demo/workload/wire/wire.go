// Package wire packs responses of the demo shop: compressed and with a tag that
// identifies their content.
package wire

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// Response is a packed body.
type Response struct {
	Tag  string
	Sum  uint32
	Body []byte
}

var writers = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// Pack compresses the body and tags it.
func Pack(body []byte) (*Response, error) {
	packed, err := compress(body)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return &Response{Tag: tag(body), Sum: crc32.ChecksumIEEE(body), Body: packed}, nil
}

func compress(body []byte) ([]byte, error) {
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	var buf bytes.Buffer
	w.Reset(&buf)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func tag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
