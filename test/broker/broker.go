// Package broker runs a real Kafka of one node, for tests. It needs Java and, the first time,
// Maven Central.
//
// A broker listens on free ports of the loopback interface, keeps its data in a folder of the
// test, and can be killed and started again. Topics are not made by themselves. What is written
// and read is the business of the test.
package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/test/cache"
)

// release is the Kafka that is run, from Maven Central, and log4j what makes it
// write a log.
const (
	release = "4.1.2"
	log4j   = "2.25.3"

	properties = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:%[2]d
listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
advertised.listeners=PLAINTEXT://127.0.0.1:%[1]d
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs=data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
`
	logging = `Configuration:
  Appenders:
    Console:
      name: STDOUT
      PatternLayout:
        Pattern: "%d %p %m (%c)%n"
  Loggers:
    Root:
      level: INFO
      AppenderRef:
        - ref: STDOUT
`
)

// startPatience is how long a download and a start may take on a busy machine.
const startPatience = 3 * time.Minute

// install returns the folder with Kafka's jars.
func install(ctx context.Context) (string, error) {
	return cache.Jars(ctx, "kafka-"+release+"-log4j-"+log4j, "org.apache.kafka:kafka_2.13:"+release,
		"org.apache.logging.log4j:log4j-slf4j-impl:"+log4j)
}

// Broker is a Kafka of one node on a free port of the loopback interface.
type Broker struct {
	Address   string
	home, lib string
	process   *exec.Cmd
	ended     chan error
}

// New starts a broker, which ends with the test.
func New(t *testing.T) *Broker {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), startPatience)
	defer stop()
	lib, err := install(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b := &Broker{home: t.TempDir(), lib: lib}
	port, controller := freePort(t), freePort(t)
	b.Address = fmt.Sprintf("127.0.0.1:%d", port)
	for name, text := range map[string]string{"server.properties": fmt.Sprintf(properties, port, controller), "log4j2.yaml": logging} {
		if err := os.WriteFile(filepath.Join(b.home, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const id = "4L6g3nShT-eMCtK--X86sw" // of a cluster, as random-uuid prints one
	if out, err := b.java(ctx, "kafka.tools.StorageTool", "format", "-t", id, "-c", "server.properties").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { b.End(t, syscall.SIGTERM) })
	b.Start(t)
	return b
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// java returns a command of Kafka.
func (b *Broker) java(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "java", append([]string{"-Xms256m", "-Xmx256m", "-XX:+UseSerialGC",
		"-Dlog4j2.configurationFile=log4j2.yaml", "-cp", filepath.Join(b.lib, "*")}, args...)...)
	c.Dir = b.home
	return c
}

// Start starts the broker, on the data that it has, and waits until it answers.
func (b *Broker) Start(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), startPatience)
	defer stop()
	console, err := os.Create(filepath.Join(b.home, "console.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	b.process = b.java(context.Background(), "kafka.Kafka", "server.properties")
	b.process.Stdout, b.process.Stderr = console, console
	if err := b.process.Start(); err != nil {
		t.Fatal(err)
	}
	b.ended = make(chan error, 1)
	go func(p *exec.Cmd, ended chan error) { ended <- p.Wait() }(b.process, b.ended)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for {
		ping, stop := context.WithTimeout(ctx, time.Second)
		err := client.Ping(ping)
		stop()
		if err == nil {
			return
		}
		select {
		case err := <-b.ended:
			b.process = nil
			t.Fatalf("Kafka ended at its start: %v\n%s", err, b.log())
		case <-ctx.Done():
			t.Fatalf("Kafka does not answer: %v\n%s", err, b.log())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// End ends the broker with a signal and waits for it.
func (b *Broker) End(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if b.process == nil {
		return
	}
	if err := b.process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	select {
	case <-b.ended:
	case <-time.After(time.Minute):
		t.Error("Kafka did not stop within a minute")
		if err := b.process.Process.Kill(); err == nil {
			<-b.ended
		}
	}
	b.process = nil
}

func (b *Broker) log() string {
	text, _ := os.ReadFile(filepath.Join(b.home, "console.log"))
	return string(text[max(0, len(text)-4000):])
}
