package app

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

func Text() []byte {
	var b bytes.Buffer
	x := uint32(1)
	for i := range 20000 {
		x = x*1664525 + 1013904223
		fmt.Fprintf(&b, "line %d: user=%d action=%s value=%d\n", i, x%1000, []string{"login", "logout", "buy", "sell"}[x>>8%4&3], x>>12)
	}
	return b.Bytes()
}

func PackZstd(p []byte) []byte {
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	return e.EncodeAll(p, nil)
}
func UnpackZstd(d *zstd.Decoder, p, buf []byte) ([]byte, error) { return d.DecodeAll(p, buf[:0]) }

func PackFlate(p []byte) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 6)
	w.Write(p)
	w.Close()
	return b.Bytes()
}
func UnpackFlate(p []byte) (int64, error) {
	return io.Copy(io.Discard, flate.NewReader(bytes.NewReader(p)))
}
