package gperftools

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// NewCPUDecoder returns a decoder of CPU profiles.
func NewCPUDecoder() profile.Decoder { return stacktext.NewDecoder(CPUName, readCPU) }

// SniffCPU reports whether content that begins with prefix is a CPU profile of
// gperftools, written by a machine of 64 or 32 bits, of either order of bytes.
func SniffCPU(prefix []byte) bool {
	_, ok := wordsOf(prefix)
	return ok
}

// words is how a machine writes numbers.
type words struct {
	size  int
	order binary.ByteOrder
}

func (w words) at(b []byte) uint64 {
	if w.size == 4 {
		return uint64(w.order.Uint32(b))
	}
	return w.order.Uint64(b)
}

// headWords is the number of words in front of the samples: 0, the number of those that
// follow but one (3), the version (0), the period in microseconds, padding.
const headWords = 5

// wordsOf tells how a file is written by its first words.
func wordsOf(head []byte) (words, bool) {
	for _, w := range []words{{8, binary.LittleEndian}, {8, binary.BigEndian}, {4, binary.LittleEndian}, {4, binary.BigEndian}} {
		if len(head) < headWords*w.size {
			continue
		}
		var v [headWords]uint64
		for i := range v {
			v[i] = w.at(head[i*w.size:])
		}
		if v[0] == 0 && v[1] == 3 && v[2] == 0 && v[3] > 0 && v[3] < math.MaxInt64/1000 && v[4] == 0 {
			return w, true
		}
	}
	return words{}, false
}

func readCPU(t *stacktext.Reading) error {
	p, l := t.Profile, t.Limits
	p.Profiler = "gperftools"
	c := &cpu{in: bufio.NewReaderSize(t.In, 64<<10), addresses: newAddresses(p, l),
		samples: stacktext.NewTable(l), time: stacktext.NewTable(l)}
	if err := c.read(); err != nil {
		var pe *profile.ParseError
		if errors.As(err, &pe) || !errors.Is(err, profile.ErrMalformed) && !errors.Is(err, profile.ErrTooLarge) {
			return err
		}
		return &profile.ParseError{Offset: c.offset, Err: err}
	}
	for t.Reset(c.in, l.Line); t.Next(); {
		c.mapping(t.Text())
	}
	count := profile.ValueType{Name: profile.CPUSamples, Unit: "count", Original: "samples"}
	cpu := profile.ValueType{Name: profile.CPU, Unit: "nanoseconds", Original: "cpu", Period: c.period, PeriodUnit: "nanoseconds",
		PeriodName: "cpu"}
	count.Period, count.PeriodUnit, count.PeriodName = cpu.Period, cpu.PeriodUnit, cpu.PeriodName
	p.Tables = []profile.Samples{c.samples.Samples(count, false, 0), c.time.Samples(cpu, false, 0)}
	p.Default, p.Interval = 1, time.Duration(c.period)
	c.fill()
	return nil
}

// cpu is the reading of one CPU profile.
type cpu struct {
	*addresses
	in     *bufio.Reader
	words  words
	offset int64
	period int64 // nanoseconds

	samples, time *stacktext.Table
}

func (c *cpu) read() error {
	head, _ := c.in.Peek(8 * headWords)
	var ok bool
	if c.words, ok = wordsOf(head); !ok {
		return profile.Malformed("not the head of a CPU profile")
	}
	c.period = int64(c.words.at(head[3*c.words.size:])) * 1000
	if err := c.skip(headWords); err != nil {
		return err
	}
	for {
		end, err := c.sample()
		if end || err != nil {
			return err
		}
	}
}

// sample reads a count, the number of addresses and these, the place of the program
// first. A stack of the address 0 with the count 0 ends the samples.
func (c *cpu) sample() (end bool, err error) {
	count, err := c.word()
	if err != nil {
		return false, err
	}
	n, err := c.word()
	if err != nil {
		return false, err
	}
	if count > math.MaxInt64/uint64(c.period) {
		return false, stacktext.ErrSum
	}
	c.Begin()
	for i := range n {
		address, err := c.word()
		if err != nil {
			return false, err
		}
		if count == 0 && n == 1 && address == 0 {
			return true, nil
		}
		if i > 0 && address > 0 {
			address--
		}
		// The signal and the unwinder may both have the innermost place.
		if i == 1 && c.Innermost() == address+1 {
			continue
		}
		if err := c.Push(address); err != nil {
			return false, err
		}
	}
	stack := c.End()
	if err := addTo(c.samples, stack, int64(count)); err != nil {
		return false, err
	}
	return false, addTo(c.time, stack, int64(count)*c.period)
}

func (c *cpu) word() (uint64, error) {
	b, err := c.in.Peek(c.words.size)
	if err != nil {
		if err == io.EOF {
			err = profile.Malformed("%w within the samples", io.ErrUnexpectedEOF)
		}
		return 0, err
	}
	v := c.words.at(b)
	return v, c.skip(1)
}

func (c *cpu) skip(n int) error {
	k, err := c.in.Discard(n * c.words.size)
	c.offset += int64(k)
	return err
}
