package threaddump

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// service makes the dumps of a server of many threads: pools that mostly wait,
// requests some of which work or are blocked, and stacks of 10 to 70 frames over
// a few thousand methods. One dump in ten threads has another stack in the next.
type service struct {
	r       *rand.Rand
	methods []string
	stacks  [][]string // outermost first
	now     time.Time
	cpu     []float64
}

func newService(seed uint64, threads int) *service {
	s := &service{r: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)}
	words := []string{"http", "codec", "pipeline", "Service", "handle", "Request", "internal", "Buffer", "session", "Query", "execute", "Plan"}
	for i := range 4000 {
		class := fmt.Sprintf("com.shop.%s.%s%s%d", strings.ToLower(words[s.r.IntN(12)]), words[s.r.IntN(12)], words[s.r.IntN(12)], i/5)
		place := fmt.Sprintf("%s.java:%d", class[strings.LastIndexByte(class, '.')+1:], 10+s.r.IntN(900))
		if i%3 == 0 {
			place = fmt.Sprintf("java.base@25.0.3/File%d.java:%d", i/5, s.r.IntN(900))
		}
		s.methods = append(s.methods, fmt.Sprintf("%s.%s%s(%s)", class, words[s.r.IntN(12)], words[s.r.IntN(12)], place))
	}
	s.stacks = make([][]string, threads)
	s.cpu = make([]float64, threads)
	for i := range s.stacks {
		s.change(i)
	}
	return s
}

// change gives a thread another stack, which shares its outer frames with those of
// the same pool.
func (s *service) change(i int) {
	pool := i % 12
	var stack []string
	for d := range 10 + s.r.IntN(60) {
		m := (pool*37 + d*11) % len(s.methods)
		if d > 8 {
			m = (m + d*s.r.IntN(4)) % len(s.methods)
		}
		stack = append(stack, s.methods[m])
	}
	s.stacks[i] = stack
}

// dump returns the text of the next dump.
func (s *service) dump() []byte {
	s.now = s.now.Add(time.Second)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\nFull thread dump OpenJDK 64-Bit Server VM (25.0.3+9-LTS mixed mode, sharing):\n\n", s.now.Format(time.DateTime))
	for i, stack := range s.stacks {
		if s.r.IntN(10) == 0 {
			s.change(i)
			s.cpu[i] += s.r.Float64() * 900
		}
		fmt.Fprintf(&b, "\"http-nio-8080-exec-%d\" #%d [%d] daemon prio=5 os_prio=0 cpu=%.2fms elapsed=%.2fs tid=0x00007f09%08x nid=%d waiting on condition  [0x00007f0909afe000]\n",
			i, i+20, 11000+i, s.cpu[i], s.now.Sub(time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)).Seconds(), i*4096, 11000+i)
		switch i % 4 {
		case 0:
			b.WriteString("   java.lang.Thread.State: RUNNABLE\n")
		case 1:
			b.WriteString("   java.lang.Thread.State: BLOCKED (on object monitor)\n")
		default:
			b.WriteString("   java.lang.Thread.State: WAITING (parking)\n")
		}
		for d := len(stack) - 1; d >= 0; d-- {
			b.WriteString("\tat " + stack[d] + "\n")
			switch {
			case d == len(stack)-1 && i%4 == 1:
				fmt.Fprintf(&b, "\t- waiting to lock <0x000000069ec1f%03x> (a com.shop.Ledger)\n", i%12)
			case d == len(stack)-1 && i%4 > 1:
				b.WriteString("\t- parking to wait for  <0x000000069ee9e020> (a java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject)\n")
			case d == len(stack)-6 && i%4 == 0:
				fmt.Fprintf(&b, "\t- locked <0x000000069ec1f%03x> (a com.shop.Ledger)\n", i%12)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\"VM Thread\" os_prio=0 cpu=3.57ms elapsed=5.07s tid=0x00007f09380affe0 nid=11727 runnable  \n\nJNI global refs: 7, weak refs: 0\n\n\n")
	return b.Bytes()
}

const benchSize = 64 << 20

// BenchmarkDecode reads 64 MiB of dumps of 400 threads, one a second.
func BenchmarkDecode(b *testing.B) {
	s := newService(1, 400)
	var texts [][]byte
	for range 16 {
		texts = append(texts, s.dump())
	}
	readtest.Measure(b, "reader=decoder", benchSize, func() error {
		_, err := NewDecoder().Decode(readtest.Repeat(benchSize, texts...), nil, profile.Limits{})
		return err
	})
	readtest.Measure(b, "reader=regexp", benchSize, func() error {
		_, err := regexpRead(readtest.Repeat(benchSize, texts...))
		return err
	})
}

var (
	headerRE = regexp.MustCompile(`^"(.*)" (?:#(\d+) )?.*nid=(\w+)`)
	stateRE  = regexp.MustCompile(`^\s+java\.lang\.Thread\.State: (\w+)`)
	frameRE  = regexp.MustCompile(`^\s+at ([^(]+)\(([^)]*)\)`)
	placeRE  = regexp.MustCompile(`^(?:[^/]*/)?([^:]*)(?::(\d+))?$`)
)

// regexpThread is a thread as regexpRead sees it.
type regexpThread struct {
	name, state string
	stack       []string // `class.method file:line`, innermost first
}

// regexpRead is the program that everybody writes first: a line at a time, a
// regular expression for each kind of line, and a tree of maps. It knows no locks,
// times, log lines or virtual threads.
func regexpRead(r io.Reader) (map[string]int, error) {
	counts := map[string]int{}
	var t *regexpThread
	end := func() {
		if t != nil {
			counts[t.name+"|"+t.state+"|"+strings.Join(t.stack, ";")]++
		}
		t = nil
	}
	in := bufio.NewScanner(r)
	for in.Scan() {
		line := in.Text()
		if m := headerRE.FindStringSubmatch(line); m != nil {
			end()
			t = &regexpThread{name: m[1]}
		} else if t == nil {
			continue
		} else if m := stateRE.FindStringSubmatch(line); m != nil {
			t.state = m[1]
		} else if m := frameRE.FindStringSubmatch(line); m != nil {
			place := placeRE.FindStringSubmatch(m[2])
			number := 0
			if place != nil && place[2] != "" {
				number, _ = strconv.Atoi(place[2])
			}
			file := m[2]
			if place != nil {
				file = place[1]
			}
			t.stack = append(t.stack, m[1]+" "+file+":"+strconv.Itoa(number))
		} else if line == "" {
			end()
		}
	}
	end()
	return counts, in.Err()
}
