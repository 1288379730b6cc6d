// Package brokers connects to Kafka.
//
// Options have what all clients of one Kafka share: addresses, TLS, the user, and how new
// topics are made. Flags of dendro serve fill it in; errors name them. A Log is a topic as a
// place, kafka://HOST:PORT/TOPIC, as flags name it.
//
// The package knows no record: packages skywalking/kafka and fleet read and write them.
package brokers

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Options say how to connect. Only Addresses is required.
type Options struct {
	Addresses []string // "host:port"

	// Partitions and Replication are for new topics. Default: 3 partitions, and the
	// brokers' default replication.
	Partitions  int32
	Replication int16

	TLS            bool   // with the system's certificate authorities
	User, Password string // for SASL; empty user: none
	Mechanism      string // of SASL: plain (default), scram-sha-256, scram-sha-512
}

// Client returns the options of a client of Kafka.
func (o *Options) Client() ([]kgo.Opt, error) {
	switch {
	case o.User != "" && o.Password == "":
		return nil, errors.New("kafka: a user without a password: give --kafka-password-file")
	case o.User == "" && o.Password != "":
		return nil, errors.New("kafka: a password without a user: give --kafka-user")
	}
	opts := []kgo.Opt{kgo.SeedBrokers(o.Addresses...), kgo.ClientID("dendro")}
	if o.TLS {
		opts = append(opts, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if o.User == "" {
		return opts, nil
	}
	secret := scram.Auth{User: o.User, Pass: o.Password}
	mechanism := secret.AsSha512Mechanism()
	switch o.Mechanism {
	case "", "plain":
		mechanism = plain.Auth{User: o.User, Pass: o.Password}.AsMechanism()
	case "scram-sha-256":
		mechanism = secret.AsSha256Mechanism()
	case "scram-sha-512":
	default:
		return nil, fmt.Errorf("no SASL mechanism %q; there are plain, scram-sha-256, scram-sha-512", o.Mechanism)
	}
	return append(opts, kgo.SASL(mechanism)), nil
}

// Create creates the missing ones of some topics, with settings. If all exist, it sends no
// request to create any: Dendro may not have the permission.
func (o *Options) Create(ctx context.Context, settings map[string]*string, topics ...string) error {
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	opts, err := o.Client()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	have, err := admin.ListTopics(ctx, topics...)
	if err != nil {
		return fmt.Errorf("listing topics: %w", err)
	}
	missing := slices.DeleteFunc(slices.Clone(topics), have.Has)
	if len(missing) == 0 {
		return nil
	}
	partitions, replication := o.Partitions, o.Replication
	partitions = cmp.Or(partitions, 3)
	replication = cmp.Or(replication, -1)
	answers, err := admin.CreateTopics(ctx, partitions, replication, settings, missing...)
	if err != nil {
		return fmt.Errorf("creating topics: %w", err)
	}
	var errs []error
	for _, a := range answers.Sorted() {
		if a.Err != nil && !errors.Is(a.Err, kerr.TopicAlreadyExists) {
			errs = append(errs, fmt.Errorf("creating topic %s: %w %s", a.Topic, a.Err, a.ErrMessage))
		}
	}
	return errors.Join(errs...)
}

// Log is a topic of Kafka as a place: kafka://HOST:PORT,HOST:PORT/TOPIC.
type Log struct {
	Addresses []string
	Topic     string
}

// Scheme begins the place of a log.
const Scheme = "kafka://"

// ParseLog parses the place of a log.
func ParseLog(text string) (Log, error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	addresses, topic, _ := strings.Cut(rest, "/")
	if !ok || addresses == "" || topic == "" || strings.ContainsAny(topic, "/?#@") || strings.ContainsAny(addresses, "@?#") {
		return Log{}, fmt.Errorf("%q: expected %sHOST:PORT,…/TOPIC; a user is named by --kafka-user", text, Scheme)
	}
	l := Log{strings.Split(addresses, ","), topic}
	if slices.Contains(l.Addresses, "") {
		return Log{}, fmt.Errorf("%q: an address is empty", text)
	}
	return l, nil
}

// Ping returns an error unless one of the brokers answers within some seconds, without TLS.
func (l Log) Ping(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	client, err := kgo.NewClient(kgo.SeedBrokers(l.Addresses...))
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}
