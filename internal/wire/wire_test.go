package wire_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/internal/wire"
)

var shape = wire.Shape{1: wire.AsVarint, 2: wire.AsBytes, 3: wire.AsFixed64, 4: wire.AsVarint | wire.AsBytes, 5: wire.AsFixed32}

// fields reads all fields of a message.
func fields(msg []byte) (list []wire.Field, err error) {
	for pos := 0; pos < len(msg); {
		f, err := shape.Next(msg, pos, len(msg))
		if err != nil {
			return list, err
		}
		list = append(list, f)
		pos = f.Hi
	}
	return list, nil
}

func TestNext(t *testing.T) {
	msg := wire.AppendInt(nil, 1, 300)
	msg = wire.AppendBytes(msg, 2, "abc")
	msg = wire.AppendFixed64(msg, 3, 1<<60)
	msg = wire.AppendBool(msg, 4, true)
	msg = binary.LittleEndian.AppendUint32(append(msg, 5<<3|wire.Fixed32), 7)
	msg = wire.AppendInt(msg, 99, 5)
	msg = wire.AppendBytes(msg, 2, []byte(nil))
	want := []wire.Field{
		{Num: 1, Type: wire.Varint, At: 0, Value: 300, Lo: 1, Hi: 3},
		{Num: 2, Type: wire.Bytes, At: 3, Lo: 5, Hi: 8},
		{Num: 3, Type: wire.Fixed64, At: 8, Value: 1 << 60, Lo: 9, Hi: 17},
		{Num: 4, Type: wire.Varint, At: 17, Value: 1, Lo: 18, Hi: 19},
		{Num: 5, Type: wire.Fixed32, At: 19, Value: 7, Lo: 20, Hi: 24},
		{Num: 99, Type: wire.Varint, At: 24, Value: 5, Lo: 26, Hi: 27},
		{Num: 2, Type: wire.Bytes, At: 27, Lo: 29, Hi: 29},
	}
	got, err := fields(msg)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if !shape.Known(5) || shape.Known(0) || shape.Known(6) || shape.Known(16) {
		t.Error("known fields")
	}
	if got := wire.AppendBool(wire.AppendInt(wire.AppendFixed64(nil, 3, 0), 1, 0), 1, false); len(got) > 0 {
		t.Errorf("zeros are written: %x", got)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		msg  []byte
		at   int
		cut  bool
	}{
		{"field 0", []byte{0, 1}, 0, false},
		{"group", []byte{1<<3 | 3}, 0, false},
		{"wire type", []byte{1<<3 | wire.Bytes, 0}, 0, false},
		{"long integer", slices.Concat([]byte{1 << 3}, slices.Repeat([]byte{0xff}, 10)), 1, false},
		{"cut integer", []byte{1 << 3, 0x80}, 1, true},
		{"cut bytes", []byte{2<<3 | wire.Bytes, 3, 1, 2}, 1, true},
		{"huge bytes", []byte{2<<3 | wire.Bytes, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 1, true},
		{"cut number", []byte{3<<3 | wire.Fixed64, 1, 2}, 0, true},
		{"cut tag", []byte{0x80}, 0, true},
	} {
		_, err := fields(tt.msg)
		var e *wire.Error
		if !errors.As(err, &e) || e.At != tt.at || e.Cut != tt.cut || e.Error() == "" {
			t.Errorf("%s: %#v", tt.name, err)
		}
	}
}

// TestInts reads messages of integers, in any order and among others.
func TestInts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var msg []byte
		var want wire.Numbers
		for range rapid.IntRange(0, 8).Draw(t, "fields") {
			switch num := rapid.SampledFrom([]int{1, 2, 3, 4, 20}).Draw(t, "num"); num {
			case 2:
				msg = wire.AppendBytes(msg, num, "text")
			case 3:
				want[num] = rapid.Uint64Min(1).Draw(t, "value")
				msg = wire.AppendFixed64(msg, num, want[num])
			default:
				v := rapid.Uint64Min(1).Draw(t, "value")
				if msg = wire.AppendInt(msg, num, v); num < len(want) {
					want[num] = v
				}
			}
		}
		got, err := shape.Ints(msg, 0, len(msg))
		if err != nil || got != want {
			t.Fatalf("%v, %v, want %v", err, got, want)
		}
	})
}
