package protobuf_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

func TestReadAll(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789"), 20_000)
	gone := errors.New("the disk is gone")
	for _, tt := range []struct {
		name   string
		r      io.Reader
		limit  int64
		length int // of what is read
		err    error
		offset int64
	}{
		{"empty", bytes.NewReader(nil), 10, 0, nil, 0},
		{"length known", bytes.NewReader(long), 1 << 20, len(long), nil, 0},
		{"length unknown", iotest.HalfReader(bytes.NewReader(long)), 1 << 20, len(long), nil, 0},
		{"end with the last bytes", iotest.DataErrReader(bytes.NewReader(long)), 1 << 20, len(long), nil, 0},
		{"as long as may be", bytes.NewReader(long), int64(len(long)), len(long), nil, 0},
		{"too long", bytes.NewReader(long), 100, 101, profile.ErrTooLarge, 100},
		{"fails", io.MultiReader(bytes.NewReader(long[:7]), iotest.ErrReader(gone)), 100, 7, gone, 7},
	} {
		got, err := protobuf.ReadAll(tt.r, []byte("what was there before"), tt.limit)
		if !bytes.HasPrefix(long, got) || len(got) < tt.length || tt.err == nil && len(got) != tt.length {
			t.Errorf("%s: %d bytes, want %d", tt.name, len(got), tt.length)
		}
		var pe *profile.ParseError
		if !errors.Is(err, tt.err) || err != nil && (!errors.As(err, &pe) || pe.Offset != tt.offset) {
			t.Errorf("%s: error %v, want %v at byte %d", tt.name, err, tt.err, tt.offset)
		}
	}
}

// TestReadAllAgain checks that the buffer of one message serves the next.
func TestReadAllAgain(t *testing.T) {
	buf, err := protobuf.ReadAll(bytes.NewReader(make([]byte, 1000)), nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	again, err := protobuf.ReadAll(bytes.NewReader(make([]byte, 900)), buf, 1<<20)
	if err != nil || len(again) != 900 || &again[0] != &buf[0] {
		t.Errorf("%d bytes, %v, or another buffer", len(again), err)
	}
}

func TestPlace(t *testing.T) {
	shape := wire.Shape{2: wire.AsBytes}
	_, broken := shape.Next([]byte{2<<3 | wire.Bytes, 9}, 0, 2)
	var pe *profile.ParseError
	if err := protobuf.Place(broken); !errors.Is(err, profile.ErrMalformed) || !errors.As(err, &pe) ||
		pe.Offset != int64(broken.(*wire.Error).At) {
		t.Errorf("%v becomes %v", broken, err)
	}
	if protobuf.Place(io.EOF) != io.EOF || protobuf.Place(nil) != nil {
		t.Error("errors of others do not remain what they are")
	}
}
