package serve

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/server/tracing"
)

// traceOptions are the flags of `dendro serve` about trace profiling.
type traceOptions struct {
	tracing.Options
	brokers       string
	kafkaPassword string // a file
}

func (o *traceOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.DurationVar(&o.TTL, "ttl", 72*time.Hour, "`time` to keep tasks, their snapshots and segments (0: forever)")
	f.Lookup("ttl").DefValue = "72h"
	f.Int64Var(&o.MaxBytes, "max-traces", 0, "maximum `bytes` of segments and snapshots; the oldest are deleted first (default: no limit)")
	f.Int64Var(&o.Intake.MaxBytes, "max-pending", 0, "maximum `bytes` of snapshots and segments that wait for a commit (default 64 MiB)")
	f.Int64Var(&o.Intake.MaxStacks, "max-stacks", 0, "maximum `bytes` of interned stacks of running tasks; the store keeps up to twice as many (default 128 MiB)")
	f.StringVar(&o.brokers, "kafka-brokers", "", "Kafka brokers, `host:port,…`: also receive agents' data through Kafka")
	f.StringVar(&o.Kafka.Group, "kafka-group", "dendro", "`name` of the consumer group; servers over one store share one")
	f.StringVar(&o.Kafka.Namespace, "kafka-namespace", "", "`name` of the topics' namespace, as set at the agents (plugin.kafka.namespace)")
	f.StringVar(&o.Kafka.Alias, "kafka-mm2-alias", "", "`alias` of the cluster that MirrorMaker 2 copies the topics from")
	f.StringVar(&o.Kafka.Separator, "kafka-mm2-separator", ".", "`text` that MirrorMaker 2 puts after the alias")
	f.Int32Var(&o.Kafka.Partitions, "kafka-partitions", 0, "create topics with `n` partitions (default 3)")
	f.Int16Var(&o.Kafka.Replication, "kafka-replication", 0, "create topics with `n` replicas (default: the brokers')")
	f.BoolVar(&o.Kafka.TLS, "kafka-tls", false, "connect to the brokers over TLS")
	f.StringVar(&o.Kafka.User, "kafka-user", "", "`name` of the Kafka user (SASL)")
	f.StringVar(&o.kafkaPassword, "kafka-password-file", "", "`file` with the password of the Kafka user")
	f.Var(command.Choice(&o.Kafka.Mechanism, "plain", "scram-sha-256", "scram-sha-512"), "kafka-mechanism", "SASL `mechanism`: plain, scram-sha-256, scram-sha-512 (default plain)")
}

// kafkaOptions sets the options of Kafka from the flags.
func (o *traceOptions) kafkaOptions() (err error) {
	if o.brokers != "" {
		o.Kafka.Addresses = strings.Split(o.brokers, ",")
	}
	if o.kafkaPassword != "" {
		o.Kafka.Password, err = command.ReadSecret("--kafka-password-file", o.kafkaPassword)
	}
	return err
}
