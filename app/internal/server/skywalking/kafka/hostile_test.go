package kafka_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/kafka"
	"github.com/dendroprof/dendro/test/nightly"
)

// TestBombs: batches that grow a thousandfold take no memory without bound, are skipped if no
// fetch has room for them, and what comes behind them is stored.
func TestBombs(t *testing.T) {
	for i, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			runtime.GC()
			c := newCluster(t)
			r := c.start(kafka.Options{Group: "g"})
			c.topicsExist("")
			bomber, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...), kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(256<<20),
				kgo.BrokerMaxWriteBytes(512<<20), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			if err != nil {
				t.Fatal(err)
			}
			bomb := func(size int) {
				t.Helper()
				if err := bomber.ProduceSync(c.ctx, &kgo.Record{Topic: "skywalking-profilings", Value: make([]byte, size)}).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			large, larger := 30<<20, 100<<20
			if i == 1 { // snappy makes the twentieth part of zeros, and a broker takes a megabyte
				large, larger = 17<<20, 18<<20
			}
			bombs := nightly.Or(5, 20)
			for range bombs {
				bomb(large)
			}
			bomb(larger)
			c.produce("skywalking-profilings", c.snapshots("t", "s", 0, 30)...)
			peak := uint64(0)
			eventually(t, "the good ones are stored", func() bool {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
				return len(c.held("t", "s")) == 30
			})
			eventually(t, "the bombs are counted", func() bool { return r.count(t, "skywalking-profilings", "poison") == float64(bombs+1) })
			if peak > 1200<<20 { // with the garbage of the cluster and of the bomber
				t.Errorf("peak of the heap: %d MB", peak>>20)
			}
			bomber.Close()
			r.end()
		})
	}
}

// TestHostileBroker: a broker that answers anything ends nothing and takes no memory.
func TestHostileBroker(t *testing.T) {
	huge := make([]byte, 4)
	binary.BigEndian.PutUint32(huge, 1<<31-1)
	for name, answer := range map[string][]byte{"nothing": nil, "garbage": bytes.Repeat([]byte{0xff}, 1<<16),
		"a huge length": append(huge, make([]byte, 1<<20)...), "HTTP": []byte("HTTP/1.1 400 Bad Request\r\n\r\n")} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			asked := make(chan bool, 1)
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer conn.Close()
						conn.Read(make([]byte, 1<<10))
						select {
						case asked <- true:
						default:
						}
						conn.Write(answer)
						conn.SetReadDeadline(time.Now().Add(time.Second))
						io.Copy(io.Discard, conn)
					}()
				}
			}()
			c := newCluster(t)
			c.brokers = []string{l.Addr().String()}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := c.start(kafka.Options{})
			select {
			case <-asked:
			case <-time.After(10 * time.Second):
				t.Fatal("the broker was not asked")
			}
			eventually(t, "it is not ready", func() bool { return r.part.Ready(c.ctx) != nil })
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 100<<20 {
				t.Errorf("the heap grows by %d bytes", grown)
			}
			done := make(chan bool)
			go func() { r.end(); close(done) }()
			select {
			case <-done:
			case <-time.After(40 * time.Second):
				t.Error("the fetcher does not end")
			}
		})
	}
}
