// Package threaddump reads thread dumps of Java virtual machines: what every
// thread was doing at one moment, and several such moments one after the other.
//
//	2026-11-20 23:24:18
//	Full thread dump OpenJDK 64-Bit Server VM (25.0.3+9-LTS mixed mode, sharing):
//
//	"blocked-1" #22 [11738] daemon prio=5 os_prio=0 cpu=0.08ms … nid=11738 waiting for monitor entry
//	   java.lang.Thread.State: BLOCKED (on object monitor)
//		at shop.demo.Stuck.enter(Stuck.java:15)
//		- waiting to lock <0x000000069ec1f888> (a java.lang.Object)
//
// These spellings are read: HotSpot's (jstack, kill -3, jcmd Thread.print; JDK 6 to 25;
// jstack -F and jhsdb), the text and the JSON of jcmd Thread.dump_to_file (JDK 21 and
// later), ThreadInfo.toString, the JSON of Spring Boot's actuator, the traces of Android,
// `thread apply all bt` of gdb, and the javacore of IBM's and Eclipse's J9. docs/format/dumps.md has
// their grammars and what the readers do not keep.
//
// Every thread of every dump is one sample of the value type `threads`, at the
// time of its dump, with thread, state and, as labels, the locks it waits for and
// holds. Threads without frames of Java (the VM's own) are samples without a
// stack. Where two dumps tell the processor time of a thread, what it used between
// them is a sample of the value type `cpu`, on the stack of the later dump.
//
// Dumps lie in the middle of logs: whatever is not part of one is passed over.
// A Decoder reads files; a Collector adds dumps that lie inside another format to
// that format's profile. The package does not change names (package normalize)
// and does not look for what is wrong with the threads.
//
// Time is linear in the text. Memory is bounded by what is different in it, the
// threads of the largest dump and 32 bytes a sample.
package threaddump

import (
	"bufio"
	"bytes"
	"strings"
	"time"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Names of the formats, as in Profile.Format.
const (
	Name         = "threaddump"
	JavacoreName = "javacore"
)

// NewDecoder returns a decoder of the dumps of HotSpot, text or JSON. It skips text
// around dumps, and unknown lines within them with a warning. A text without any dump
// is an error.
func NewDecoder() profile.Decoder {
	return stacktext.NewDecoder(Name, func(t *stacktext.Reading) error {
		c := newCollector(t.Profile, t.Limits, t.Known)
		in := bufio.NewReader(t.In)
		head, _ := in.Peek(64) // an error comes again
		head = bytes.TrimLeft(head, " \t\r\n")
		if bytes.HasPrefix(head, []byte("{")) || isArray(head) {
			return c.finish(readJSON(c, in))
		}
		return c.finish(readText(c, t.Lines, in))
	})
}

// NewJavacoreDecoder returns a decoder of javacore files.
func NewJavacoreDecoder() profile.Decoder {
	return stacktext.NewDecoder(JavacoreName, func(t *stacktext.Reading) error {
		c := newCollector(t.Profile, t.Limits, t.Known)
		return c.finish(readJavacore(c, t))
	})
}

// finish makes the tables unless reading failed.
func (c *Collector) finish(err error) error {
	if err == nil {
		c.Finish()
	}
	return err
}

// NewCollector returns a Collector that adds the dumps that lie inside another
// format to its profile p. It belongs to one goroutine.
func NewCollector(p *profile.Profile, l profile.Limits) *Collector {
	frames := &stacktext.Frames{}
	frames.Use(p.Symbols)
	return newCollector(p, l, frames)
}

// Add reads the dumps of HotSpot in text. With at not zero that is the time of
// all of them, whatever the text says. Errors are those of Decoder.Decode, with
// the place in text.
func (c *Collector) Add(text string, at time.Time) error {
	c.at = at
	c.process = c.process[:0]
	return readText(c, &c.lines, strings.NewReader(text))
}
